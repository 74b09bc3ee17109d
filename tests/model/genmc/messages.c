/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The library's own code of channels of messages, for GenMC, which explores all executions that
 * RC11 allows. Both sides are connected before the threads begin. CASE chooses one:
 *   1  a sender writes its third message where the first one was; the receiver reads all
 *   2  a receiver sleeps until a message comes
 *   3  a sender sleeps until there is space
 * GenMC reports accesses of contents that race, and assertions that fail. A thread that sleeps
 * ends: the sleep was right if the doorbell rings sooner or later.
 */
#include "channel/wait.h"

#include "../../../channel/ring.c"
#include "../../../channel/wait.c"
#include <assert.h>
#include <pthread.h>
#include <stdlib.h>

void __VERIFIER_assume(int);

#define MESSAGES   3u
#define RING_BYTES CHANNEL_RING_MIN
#define LARGE      channel_content_max(RING_BYTES)
#define LAST       (LARGE / sizeof(uint64_t) - 1)

struct section {
    struct channel_control control;
    uint8_t rest[CHANNEL_CONTROL_BYTES - sizeof(struct channel_control)];
    uint8_t ring[RING_BYTES];
};

static struct section sections[2];
static struct channel sides[2];
static uint32_t doorbells[2]; /* of each side: 1 if it rang */
static bool sleeps[2];

static void prepare(void *context)
{
    (void)__atomic_exchange_n(&doorbells[*(unsigned *)context], 0, __ATOMIC_ACQUIRE);
}

static bool sleep_until(void *context, uint64_t deadline)
{
    unsigned side = *(unsigned *)context;

    (void)deadline;
    if (__atomic_load_n(&doorbells[side], __ATOMIC_ACQUIRE) == 0) {
        sleeps[side] = true;
        pthread_exit(NULL);
    }
    return true;
}

/* Functions of connection.c. The lives of the sides do not change here. */

uint8_t *channel_send_slowly(struct channel *channel, uint64_t length)
{
    (void)channel;
    (void)length;
    return NULL;
}

const uint8_t *channel_receive_slowly(struct channel *channel, uint64_t *length, uint32_t *tag)
{
    (void)channel;
    (void)length;
    (void)tag;
    return NULL;
}

void channel_notify_peer(struct channel *channel)
{
    __atomic_store_n(&doorbells[channel == &sides[0] ? 1 : 0], 1, __ATOMIC_RELEASE);
}

bool value_is_new(const struct value_reader *reader)
{
    (void)reader;
    return false;
}

/* Sets the fields as ring_producer_begin() and ring_consumer_begin() do. GenMC can't execute their
 * copies of structs. */
static void connect_sides(void)
{
    struct ring_producer *out = &sides[0].out;
    struct ring_consumer *in = &sides[1].in;

    for (unsigned i = 0; i < 2; i++) {
        sides[i].memory.own = &sections[i];
        sides[i].memory.peer = &sections[1 - i];
        sides[i].state = CHANNEL_CONNECTED;
    }
    out->produced = &sections[0].control.produced;
    out->sent = &sections[0].control.sent;
    out->errors = &sections[0].control.errors;
    out->waits = &sections[1].control.waits;
    out->consumed = &sections[1].control.consumed;
    out->ring = sections[0].ring;
    out->bytes = RING_BYTES;
    out->limit = RING_BYTES;
    out->is_open = true;
    move_producer(out, 0);
    in->consumed = &sections[1].control.consumed;
    in->received = &sections[1].control.received;
    in->errors = &sections[1].control.errors;
    in->waits = &sections[0].control.waits;
    in->produced = &sections[0].control.produced;
    in->ring = sections[0].ring;
    in->bytes = RING_BYTES;
    in->is_open = true;
    move_consumer(in, 0);
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

static void wait_for(struct channel_wait wait, unsigned side)
{
    const struct channel_sleeper sleeper = {&side, prepare, sleep_until};

    assert(channel_wait_any(&wait, 1, &sleeper, CHANNEL_FOREVER) == 0);
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
    pthread_t threads[2];

    connect_sides();
    if (CASE == 3) {
        send(0);
        send(1);
    }
    pthread_create(&threads[0], NULL, run_sender, NULL);
    pthread_create(&threads[1], NULL, run_receiver, NULL);
    for (unsigned i = 0; i < 2; i++) {
        pthread_join(threads[i], NULL);
    }
    for (unsigned i = 0; i < 2; i++) {
        assert(!sleeps[i] || __atomic_load_n(&doorbells[i], __ATOMIC_RELAXED) != 0);
    }
    return 0;
}
