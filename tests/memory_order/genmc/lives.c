/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The library's own code of connections, for GenMC. CASE chooses one:
 *   1  a side finds the other's first life
 *   2  the sender's partition ends after a message: the hypervisor writes to the state table
 *   3  the sender begins a new life after a message
 *   4  the sender begins a new life, in which it sends; the receiver connects with it
 *   5  the receiver begins a new life while it reads a message, which the sender then overwrites
 *   6  the sender begins a new life after a malicious one, which has left the receiver's index
 *      beyond all messages of the new one
 * A side that has to wait for the other is not explored further: in other executions it need not.
 * GenMC ends with an error where fail() copies a struct: no side may fail.
 */
#include "rings.h"
#include "sides.h"

#include "../../../channel/connection.c"

#define SMALL sizeof(uint64_t)
#define LARGE channel_content_max(RING_BYTES)

enum { SENDER, RECEIVER };

static struct section sections[2];
static uint32_t states[2]; /* the state table */
static struct channel sides[2];

/* Does what channel_open() does, whose copies of structs GenMC can't execute. */
static void open_side(unsigned side)
{
    struct channel *channel = &sides[side];

    channel->memory.own = &sections[side];
    channel->memory.peer = &sections[1 - side];
    channel->memory.ring_bytes = RING_BYTES;
    channel->memory.peer_state = &states[1 - side];
    begin_life(channel, 0);
}

static void connect_sides(void)
{
    open_side(SENDER);
    open_side(RECEIVER);
    for (unsigned i = 0; i < 4; i++) {
        (void)channel_update(&sides[i % 2]);
    }
    assert(sides[SENDER].state == CHANNEL_CONNECTED && sides[RECEIVER].state == CHANNEL_CONNECTED);
}

static void send(uint64_t length, uint64_t number)
{
    uint64_t *content = (uint64_t *)channel_send_begin(&sides[SENDER], length);

    __VERIFIER_assume(content != NULL);
    *content = number;
    channel_send_end(&sides[SENDER], length, 0);
}

static const uint64_t *begin_to_receive(void)
{
    uint64_t length;
    uint32_t tag;

    return (const uint64_t *)channel_receive_begin(&sides[RECEIVER], &length, &tag);
}

static void receive(uint64_t number)
{
    const uint64_t *content = begin_to_receive();

    __VERIFIER_assume(content != NULL);
    assert(*content == number);
    channel_receive_end(&sides[RECEIVER]);
}

static void accept_next_life(unsigned side)
{
    struct channel *channel = &sides[side];
    uint64_t length;
    uint32_t tag;

    assert(channel_receive_begin(channel, &length, &tag) == NULL);
    __VERIFIER_assume(channel->state == CHANNEL_ENDED);
    channel_accept(channel);
    __VERIFIER_assume(channel_update(channel) == CHANNEL_CONNECTED);
}

static void *run_sender(void *argument)
{
    if (CASE == 1) {
        open_side(SENDER);
    } else if (CASE == 5) {
        accept_next_life(SENDER);
        send(LARGE, 3);
    } else if (CASE == 6) {
        channel_reset(&sides[SENDER]);
        __VERIFIER_assume(channel_update(&sides[SENDER]) == CHANNEL_CONNECTED);
        send(LARGE, 1);
        send(LARGE, 2);
        /* There is no space, which the sender knows by the receiver's index. */
        assert(channel_send_begin(&sides[SENDER], LARGE) == NULL);
        assert(sides[SENDER].state == CHANNEL_CONNECTED);
    } else {
        send(SMALL, 1);
        if (CASE == 2) {
            __atomic_store_n(&states[SENDER], 0, __ATOMIC_RELEASE);
        } else {
            channel_reset(&sides[SENDER]);
        }
        if (CASE == 4) {
            __VERIFIER_assume(channel_update(&sides[SENDER]) == CHANNEL_CONNECTED);
            send(SMALL, 2);
        }
    }
    return argument;
}

static void *run_receiver(void *argument)
{
    if (CASE == 1) {
        assert(channel_update(&sides[RECEIVER]) != CHANNEL_FAILED);
    } else if (CASE == 5) {
        assert(*begin_to_receive() == 1);
        channel_reset(&sides[RECEIVER]);
        __VERIFIER_assume(channel_update(&sides[RECEIVER]) == CHANNEL_CONNECTED);
        receive(3);
    } else if (CASE == 6) {
        accept_next_life(RECEIVER);
    } else {
        const uint64_t *content = begin_to_receive();

        /* If there is no message, the sender's life goes on: it will be there. */
        assert(content != NULL || sides[RECEIVER].state != CHANNEL_ENDED);
        __VERIFIER_assume(content != NULL);
        assert(*content == 1);
        channel_receive_end(&sides[RECEIVER]);
        if (CASE == 4) {
            accept_next_life(RECEIVER);
            receive(2);
        }
    }
    return argument;
}

int main(void)
{
    states[SENDER] = 1;
    states[RECEIVER] = 1;
    if (CASE == 1) {
        open_side(RECEIVER);
    } else {
        connect_sides();
    }
    if (CASE == 5) {
        send(LARGE, 1);
        send(LARGE, 2);
    }
    if (CASE == 6) {
        sections[RECEIVER].control.consumed = UINT64_C(1) << 40;
    }
    run_sides(run_sender, run_receiver);
    return 0;
}
