/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Checks the memory order of channels of messages: the library's own code (channel/) runs as two
 * sides, in all executions that a weak memory model allows (weak_memory.h).
 *   - A receiver reads no message before it is complete, and a sender overwrites none that is still
 *     read. Each violation would be a data race.
 *   - No doorbell is lost. A loss would make a side wait for ever.
 *   - Two sides connect, and receive nothing that was sent to an earlier life.
 * Each of the library's orders is also weakened once, which the checks must find.
 */
#include "channel/run.h"
#include "channel/wait.h"
#include "orders.h"
#include <string.h>

#define ORDERS 16u

#define RING_BYTES CHANNEL_RING_MIN
#define SIDES      2u
#define SMALL      8u
#define LARGE      channel_content_max(RING_BYTES)

struct side {
    unsigned number; /* the event that is its doorbell */
    struct channel channel;
    struct channel_sleeper sleeper;
};

static _Alignas(CHANNEL_CONTROL_BYTES) uint8_t sections[SIDES][CHANNEL_CONTROL_BYTES + RING_BYTES];
static uint32_t states[SIDES]; /* the state table */
static struct side sides[SIDES];

static struct channel_control *control(unsigned side)
{
    void *page = sections[side];

    return page;
}

/* The system's part: an event for each side. */

static void ring_doorbell(void *context)
{
    const struct side *side = context;

    model_signal(1 - side->number);
}

static void prepare_sleep(void *context)
{
    const struct side *side = context;

    model_clear(side->number);
}

static bool sleep_until_doorbell(void *context, uint64_t deadline)
{
    const struct side *side = context;

    (void)deadline;
    model_wait(side->number);
    return true;
}

static void open_side(unsigned side, bool with_doorbell)
{
    const struct channel_memory memory = {sections[side], sections[1 - side], RING_BYTES,
                                          &states[1 - side]};
    const struct channel_port port = {
        .context = &sides[side],
        .notify = with_doorbell ? ring_doorbell : NULL,
    };

    MODEL_CHECK(channel_open(&sides[side].channel, &memory, &port));
}

/* `position`: where both sides' earlier lives ended. */
static void clear(uint64_t position)
{
    memset(sections, 0, sizeof(sections));
    for (unsigned i = 0; i < SIDES; i++) {
        control(i)->produced = position;
        states[i] = 1;
        sides[i].number = i;
        sides[i].sleeper = (struct channel_sleeper){
            .context = &sides[i], .prepare = prepare_sleep, .sleep = sleep_until_doorbell};
    }
}

static void connect_both(uint64_t position)
{
    clear(position);
    open_side(0, true);
    open_side(1, true);
    for (unsigned i = 0; i < 2 * SIDES; i++) {
        (void)channel_update(&sides[i % SIDES].channel);
    }
    for (unsigned i = 0; i < SIDES; i++) {
        MODEL_CHECK(sides[i].channel.state == CHANNEL_CONNECTED);
    }
}

/* The words of a connection that lasts. */
static void share_traffic(void)
{
    for (unsigned i = 0; i < SIDES; i++) {
        model_share(&control(i)->produced, sizeof(uint64_t));
        model_share(&control(i)->consumed, sizeof(uint64_t));
        model_share(&control(i)->waits, sizeof(uint64_t));
    }
}

static void send(struct side *side, uint64_t length, uint64_t value)
{
    struct channel *channel = &side->channel;
    uint8_t *place = channel_send_begin(channel, length);

    while (place == NULL) {
        const struct channel_wait wait = channel_wait_for_space(channel, length);

        MODEL_CHECK(channel->state == CHANNEL_CONNECTED);
        (void)channel_wait_any(&wait, 1, &side->sleeper, CHANNEL_FOREVER);
        place = channel_send_begin(channel, length);
    }
    model_store(place, sizeof(value), value);
    channel_send_end(channel, length, (uint32_t)value);
}

static void receive(struct side *side, uint64_t value)
{
    struct channel *channel = &side->channel;
    uint64_t length;
    uint32_t tag;
    const uint8_t *content = channel_receive_begin(channel, &length, &tag);

    while (content == NULL) {
        const struct channel_wait wait = channel_wait_for_message(channel);

        MODEL_CHECK(channel->state == CHANNEL_CONNECTED);
        (void)channel_wait_any(&wait, 1, &side->sleeper, CHANNEL_FOREVER);
        content = channel_receive_begin(channel, &length, &tag);
    }
    MODEL_CHECK(tag == value && model_load(content, sizeof(value)) == value);
    channel_receive_end(channel);
}

/* The second message does not fit before the end of the ring. */
static void prepare_messages(void)
{
    connect_both(RING_BYTES - 2 * ring_size(SMALL) + CHANNEL_ALIGNMENT);
    share_traffic();
}

static void send_two(void)
{
    send(&sides[0], SMALL, 1);
    send(&sides[0], SMALL, 2);
}

static void receive_two(void)
{
    receive(&sides[1], 1);
    receive(&sides[1], 2);
}

/* Two messages with one header. */
static void prepare_run(void)
{
    connect_both(0);
    share_traffic();
}

static void send_two_in_a_run(void)
{
    struct channel *channel = &sides[0].channel;
    struct send_run run = channel_send_run_begin(channel, SMALL, 1);

    for (unsigned i = 0; i < 2; i++) {
        model_store(send_run_reserve(&run), sizeof(uint64_t), 1);
        send_run_commit(&run);
    }
    channel_send_run_end(channel, &run);
}

static void receive_two_of_a_run(void)
{
    receive(&sides[1], 1);
    receive(&sides[1], 1);
}

/* The ring is full with two messages. */
static void prepare_full(void)
{
    connect_both(0);
    send(&sides[0], LARGE, 1);
    send(&sides[0], LARGE, 2);
    share_traffic();
}

static void send_third(void)
{
    send(&sides[0], LARGE, 3);
}

/* The sender's partition ends: the hypervisor writes to the state table. */
static void prepare_end(void)
{
    connect_both(0);
    share_traffic();
    model_share(&states[0], sizeof(uint32_t));
}

static void send_and_end(void)
{
    send(&sides[0], SMALL, 1);
    model_store_release(&states[0], sizeof(uint32_t), 0);
    ring_doorbell(&sides[0]);
}

static void receive_until_end(void)
{
    struct channel *channel = &sides[1].channel;
    uint64_t length;
    uint32_t tag;

    receive(&sides[1], 1);
    for (;;) {
        const struct channel_wait wait = channel_wait_for_message(channel);

        MODEL_CHECK(channel_receive_begin(channel, &length, &tag) == NULL);
        if (channel->state == CHANNEL_ENDED) {
            return;
        }
        (void)channel_wait_any(&wait, 1, &sides[1].sleeper, CHANNEL_FOREVER);
    }
}

/* The words of a connection that ends or begins. Its doorbells ring after each step, without a
 * condition: here the sides poll instead, because that has fewer executions. */
static void share_lives(void)
{
    for (unsigned i = 0; i < SIDES; i++) {
        sides[i].channel.port.notify = NULL;
        model_share(&control(i)->generation, sizeof(uint64_t));
        model_share(&control(i)->acknowledged, sizeof(uint64_t));
        model_share(&control(i)->start, sizeof(uint64_t));
        model_share(&control(i)->connected, sizeof(uint64_t));
    }
    share_traffic();
}

static void poll_until_ended(unsigned side)
{
    struct channel *channel = &sides[side].channel;
    uint64_t length;
    uint32_t tag;

    MODEL_CHECK(channel_receive_begin(channel, &length, &tag) == NULL);
    while (channel->state != CHANNEL_ENDED) {
        model_await_unread(&control(1 - side)->generation);
        MODEL_CHECK(channel_receive_begin(channel, &length, &tag) == NULL);
    }
}

static void poll_until_connected(unsigned side)
{
    struct channel *channel = &sides[side].channel;

    while (channel_update(channel) != CHANNEL_CONNECTED) {
        MODEL_CHECK(channel->state == CHANNEL_CONNECTING);
        model_await_unread(&control(1 - side)->acknowledged);
    }
}

static void poll_and_send(unsigned side, uint64_t length, uint64_t value)
{
    struct channel *channel = &sides[side].channel;

    while (channel_send_begin(channel, length) == NULL) {
        MODEL_CHECK(channel->state == CHANNEL_CONNECTED && !channel->out.is_open);
        model_await_unread(&control(1 - side)->connected);
    }
    send(&sides[side], length, value);
}

static void poll_and_receive(unsigned side, uint64_t value)
{
    uint64_t length;
    uint32_t tag;
    const uint8_t *content = channel_receive_begin(&sides[side].channel, &length, &tag);

    while (content == NULL) {
        MODEL_CHECK(sides[side].channel.state == CHANNEL_CONNECTED);
        model_await_unread(&control(1 - side)->produced);
        content = channel_receive_begin(&sides[side].channel, &length, &tag);
    }
    MODEL_CHECK(tag == value && model_load(content, sizeof(value)) == value);
    channel_receive_end(&sides[side].channel);
}

/* One side finds the other's first life. */
static void prepare_open(void)
{
    clear(0);
    open_side(1, false);
    share_lives();
}

static void open_first(void)
{
    open_side(0, false);
}

static void find_first(void)
{
    while (channel_update(&sides[1].channel) == CHANNEL_CONNECTING && sides[1].channel.peer == 0) {
        model_await_unread(&control(0)->generation);
    }
    MODEL_CHECK(sides[1].channel.state != CHANNEL_FAILED);
}

/* The sender begins a new life after a message. */
static void prepare_reset(void)
{
    connect_both(0);
    share_lives();
}

static void send_and_reset(void)
{
    send(&sides[0], SMALL, 1);
    channel_reset(&sides[0].channel);
}

static void receive_until_reset(void)
{
    poll_and_receive(1, 1);
    poll_until_ended(1);
}

/* The receiver connects with the sender's new life. */
static void prepare_new_sender(void)
{
    connect_both(0);
    send(&sides[0], SMALL, 1);
    receive(&sides[1], 1);
    share_lives();
}

static void reset_and_send(void)
{
    channel_reset(&sides[0].channel);
    poll_until_connected(0);
    poll_and_send(0, SMALL, 2);
}

static void receive_of_new_life(void)
{
    model_await_unread(&control(0)->generation);
    poll_until_ended(1);
    channel_accept(&sides[1].channel);
    poll_until_connected(1);
    poll_and_receive(1, 2);
}

/* The receiver begins a new life while it reads a message, which the sender then overwrites. */
static void prepare_new_receiver(void)
{
    connect_both(0);
    send(&sides[0], LARGE, 1);
    send(&sides[0], LARGE, 2);
    share_lives();
}

static void reset_and_receive(void)
{
    struct channel *channel = &sides[1].channel;
    uint64_t length;
    uint32_t tag;

    MODEL_CHECK(model_load(channel_receive_begin(channel, &length, &tag), sizeof(uint64_t)) == 1);
    channel_reset(channel);
    poll_until_connected(1);
    poll_and_receive(1, 3);
}

static void send_to_new_life(void)
{
    model_await_unread(&control(1)->generation);
    poll_until_ended(0);
    channel_accept(&sides[0].channel);
    poll_until_connected(0);
    poll_and_send(0, LARGE, 3);
}

/* The sender's last life was malicious: the receiver's index is beyond all messages of the next. */
static void prepare_after_malicious(void)
{
    connect_both(0);
    control(1)->consumed = UINT64_C(1) << 40;
    share_lives();
}

/* The third message does not fit, so the sender reads the receiver's index. */
static void reset_and_fill(void)
{
    channel_reset(&sides[0].channel);
    poll_until_connected(0);
    poll_and_send(0, LARGE, 1);
    send(&sides[0], LARGE, 2);
    MODEL_CHECK(channel_send_begin(&sides[0].channel, LARGE) == NULL);
    MODEL_CHECK(sides[0].channel.state == CHANNEL_CONNECTED);
}

static void connect_with_new_life(void)
{
    model_await_unread(&control(0)->generation);
    poll_until_ended(1);
    channel_accept(&sides[1].channel);
    poll_until_connected(1);
}

static uint64_t violator; /* generation */

/* The sender's last life violated the format, and went back in its generations. The receiver finds
 * it and begins a new life, which refuses that one, while the sender's next life chooses its
 * generation. */
static void prepare_violator(void)
{
    connect_both(0);
    *channel_word(&sections[0][CHANNEL_CONTROL_BYTES]) = RING_BYTES; /* the length of a message */
    control(0)->produced = ring_size(SMALL);
    violator = control(0)->generation--;
    for (unsigned i = 0; i < SIDES; i++) {
        /* Also words that are read of a life that has ended. */
        model_share(&control(i)->format, sizeof(uint64_t));
        model_share(&control(i)->ring_bytes, sizeof(uint64_t));
        model_share(&control(i)->refused, sizeof(uint64_t));
    }
    share_lives();
}

static void begin_after_violator(void)
{
    open_side(0, false);
    MODEL_CHECK(sides[0].channel.generation == violator + 1);
}

static void refuse_violator(void)
{
    uint64_t length;
    uint32_t tag;

    MODEL_CHECK(channel_receive_begin(&sides[1].channel, &length, &tag) == NULL);
    MODEL_CHECK(sides[1].channel.state == CHANNEL_FAILED);
    channel_reset(&sides[1].channel);
}

/* A malicious life of side 0 shows a generation and another format, and goes back to the generation
 * before, so that the next life chooses the same one. The other side may read the malicious life's
 * format with the next life's generation. */
static void prepare_same_generation(void)
{
    clear(0);
    open_side(1, false);
    control(0)->ring_bytes = RING_BYTES;
    control(0)->format = CHANNEL_FORMAT_VALUE;
    control(0)->generation = 1;
    for (unsigned i = 0; i < SIDES; i++) {
        model_share(&control(i)->format, sizeof(uint64_t));
        model_share(&control(i)->ring_bytes, sizeof(uint64_t));
        model_share(&control(i)->refused, sizeof(uint64_t));
        model_share(&control(i)->generation, sizeof(uint64_t));
        model_share(&control(i)->acknowledged, sizeof(uint64_t));
        model_share(&control(i)->connected, sizeof(uint64_t));
    }
}

/* One step of a program that goes on after errors and ends. */
static void go_on(unsigned side)
{
    struct channel *channel = &sides[side].channel;

    switch (channel_update(channel)) {
    case CHANNEL_FAILED:
        channel_reset(channel);
        break;
    case CHANNEL_ENDING:
        channel_accept(channel);
        break;
    default:
        break;
    }
}

/* Begins the life, which must get a connection once the other side has read what it reads. */
static void begin_with_same_generation(void)
{
    model_store(&control(0)->generation, sizeof(uint64_t), 0);
    open_side(0, false);
    model_wait(0);
    for (unsigned i = 0; i < 4 * SIDES; i++) {
        go_on(i % SIDES);
    }
    MODEL_CHECK(sides[0].channel.out.is_open && sides[1].channel.out.is_open);
}

static void read_generation_and_format(void)
{
    (void)channel_update(&sides[1].channel);
    model_signal(0);
}

static const struct order_program programs[] = {
    {{"messages", prepare_messages, {send_two, receive_two}}, 3000000},
    {{"run", prepare_run, {send_two_in_a_run, receive_two_of_a_run}}, 3000000},
    {{"space", prepare_full, {send_third, receive_two}}, 3000000},
    {{"end of the sender", prepare_end, {send_and_end, receive_until_end}}, 3000000},
    {{"open", prepare_open, {open_first, find_first}}, 3000000},
    {{"reset", prepare_reset, {send_and_reset, receive_until_reset}}, 3000000},
    {{"new sender", prepare_new_sender, {reset_and_send, receive_of_new_life}}, 3000000},
    {{"new receiver", prepare_new_receiver, {send_to_new_life, reset_and_receive}}, 3000000},
    {{"malicious sender", prepare_after_malicious, {reset_and_fill, connect_with_new_life}},
     3000000},
    {{"violator", prepare_violator, {begin_after_violator, refuse_violator}}, 3000000},
    {{"same generation",
      prepare_same_generation,
      {begin_with_same_generation, read_generation_and_format}},
     3000000},
};

int main(void)
{
    return orders_test(programs, sizeof(programs) / sizeof(programs[0]), ORDERS);
}
