/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The library's own code of channels of messages, for GenMC, which explores all executions that
 * RC11 allows. Both sides are connected before the threads begin. CASE chooses one:
 *   1  a sender writes its third message where the first one was; the receiver reads all
 *   2  a receiver sleeps until a message comes
 *   3  a sender sleeps until there is space
 * GenMC reports accesses of contents that race, and assertions that fail.
 */
#include "rings.h"
#include "sides.h"
#include "without_lives.h"

#include "../../../channel/wait.c"

#define MESSAGES 3u
#define LARGE    channel_content_max(RING_BYTES)
#define LAST     (LARGE / sizeof(uint64_t) - 1)

static struct section sections[2];
static struct channel sides[2];

void channel_notify_peer(struct channel *channel)
{
    ring_doorbell(channel == &sides[0] ? 1 : 0);
}

bool value_is_new(const struct value_reader *reader)
{
    (void)reader;
    return false;
}

static void connect_sides(void)
{
    for (unsigned i = 0; i < 2; i++) {
        sides[i].memory.own = &sections[i];
        sides[i].memory.peer = &sections[1 - i];
        sides[i].state = CHANNEL_CONNECTED;
    }
    ring_producer_begin(&sides[0].out, &sections[0], &sections[1].control, RING_BYTES, 0);
    ring_consumer_begin(&sides[1].in, &sections[0], &sections[1].control, RING_BYTES, 0);
}

static void send(uint64_t number)
{
    uint64_t *content = (uint64_t *)channel_send_begin(&sides[0], LARGE);

    __VERIFIER_assume(content != NULL);
    content[0] = number;
    content[LAST] = number;
    channel_send_end(&sides[0], LARGE, 0);
}

static void receive(uint64_t number)
{
    uint64_t length;
    uint32_t tag;
    const uint64_t *content = (const uint64_t *)channel_receive_begin(&sides[1], &length, &tag);

    __VERIFIER_assume(content != NULL);
    assert(length == LARGE && content[0] == number && content[LAST] == number);
    channel_receive_end(&sides[1]);
}

static void *run_sender(void *argument)
{
    if (CASE == 3) {
        wait_for(channel_wait_for_space(&sides[0], LARGE), 0);
        send(2);
    } else {
        for (uint64_t i = 0; i < (CASE == 1 ? MESSAGES : 1); i++) {
            send(i);
        }
    }
    return argument;
}

static void *run_receiver(void *argument)
{
    if (CASE == 2) {
        wait_for(channel_wait_for_message(&sides[1]), 1);
        receive(0);
    } else {
        for (uint64_t i = 0; i < (CASE == 1 ? MESSAGES : 1); i++) {
            receive(i);
        }
    }
    return argument;
}

int main(void)
{
    connect_sides();
    if (CASE == 3) {
        send(0);
        send(1);
    }
    run_sides(run_sender, run_receiver);
    return 0;
}
