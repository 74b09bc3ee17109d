/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Checks the memory order of one-way channels (channel/broadcast.c), as test_channel.c does for
 * those of messages. The sender may overwrite a message while it is read, so the words of the ring
 * are shared ones, and what a receiver makes of them is checked: a message that was received is
 * complete, none is received twice, an honest sender is never taken for one that violates the
 * format, and the newest message is received unless the next one may overwrite it.
 */
#include "channel/broadcast.h"
#include "orders.h"
#include <string.h>

#define ORDERS 7u

#define RING_BYTES CHANNEL_RING_MIN
#define LENGTH     8u
#define SIZE       (sizeof(struct broadcast_message) + LENGTH)
/* Content length of two messages that fill a ring except for two small messages. */
#define LARGE ((RING_BYTES - 2 * SIZE) / 2 - sizeof(struct broadcast_message))

static _Alignas(CHANNEL_CONTROL_BYTES) uint8_t section[CHANNEL_CONTROL_BYTES + RING_BYTES];
static struct broadcast_sender sender;
static struct broadcast_receiver receiver;

static struct channel_control *control(void)
{
    void *page = section;

    return page;
}

/* The content of message n is n. */
static void send(uint64_t length)
{
    uint64_t *place = (void *)broadcast_send_begin(&sender, length);

    word_store(place, sender.number + 1);
    broadcast_send_end(&sender, length, (uint32_t)(sender.number + 1));
}

/* Returns the number of the message, or 0 if there is none of up to `size` bytes. */
static uint64_t receive_up_to(uint64_t size)
{
    static uint64_t buffer[RING_BYTES / 2 / sizeof(uint64_t)];
    uint64_t before = receiver.number;
    uint64_t content;
    uint64_t length;
    uint32_t tag;
    enum broadcast_result result = broadcast_receive(&receiver, buffer, size, &length, &tag);

    MODEL_CHECK(receiver.error.kind == CHANNEL_ERROR_NONE);
    if (result != BROADCAST_RECEIVED) {
        return 0;
    }
    MODEL_CHECK(length <= size);
    content = buffer[0];
    MODEL_CHECK(content == receiver.number && tag == content);
    MODEL_CHECK(content > before);
    return content;
}

static uint64_t receive(void)
{
    return receive_up_to(LENGTH);
}

/* `words`: of the ring, those that are used while the threads run. */
static void share(unsigned words)
{
    model_share(&control()->produced, sizeof(uint64_t));
    model_share(&control()->overwritten, sizeof(uint64_t));
    model_share(&control()->last, sizeof(uint64_t));
    for (unsigned i = 0; i < words; i++) {
        model_share(section + CHANNEL_CONTROL_BYTES + i * sizeof(uint64_t), sizeof(uint64_t));
    }
}

static void begin(uint64_t position)
{
    memset(section, 0, sizeof(section));
    control()->produced = position;
    MODEL_CHECK(broadcast_sender_begin(&sender, section, RING_BYTES));
    MODEL_CHECK(broadcast_receiver_begin(&receiver, section, RING_BYTES, false));
}

static void prepare_next(void)
{
    begin(0);
    share(2 * SIZE / sizeof(uint64_t));
}

/* Both begin while the threads run. */
static void prepare_begin(void)
{
    begin(CHANNEL_ALIGNMENT);
    send(LENGTH);
    send(LARGE);
    send(LARGE);
    share(4);
    model_share(&control()->format, sizeof(uint64_t));
    model_share(sender.ring + (sender.position & (RING_BYTES - 1)), sizeof(uint64_t));
}

static void begin_and_send(void)
{
    MODEL_CHECK(broadcast_sender_begin(&sender, section, RING_BYTES));
    send(LENGTH);
}

static void begin_and_receive(void)
{
    MODEL_CHECK(broadcast_receiver_begin(&receiver, section, RING_BYTES, true));
    (void)receive();
}

static void send_one(void)
{
    send(LENGTH);
}

static void send_two(void)
{
    send(LENGTH);
    send(LENGTH);
}

static void receive_two(void)
{
    for (unsigned i = 0; i < 2; i++) {
        uint64_t before = receiver.number;
        uint64_t number = receive();

        MODEL_CHECK(number == 0 || number == before + 1);
    }
    MODEL_CHECK(receiver.lost == 0);
}

/* The receiver has the whole ring before it, the sender overwrites it. */
static void prepare_full(void)
{
    begin(0);
    send(LENGTH);
    send(LARGE);
    send(LARGE);
    send(LENGTH);
    share(2 * SIZE / sizeof(uint64_t));
}

/* The same, and the next message does not fit before the end of the ring. */
static void prepare_skip(void)
{
    begin(CHANNEL_ALIGNMENT);
    send(LENGTH);
    send(LARGE);
    send(LARGE);
    share(4);
    model_share(sender.ring + (sender.position & (RING_BYTES - 1)), sizeof(uint64_t));
}

static void receive_any(void)
{
    (void)receive();
    (void)receive();
}

/* The receiver is at the newest message, and the next message will be a largest one that does not
 * fit before the end of the ring, whose mark is at the middle of the ring. `offset`: of the newest
 * message, less than the middle. */
static void prepare_largest(uint64_t offset, unsigned words)
{
    begin(0);
    send(offset - sizeof(struct broadcast_message));
    MODEL_CHECK(broadcast_receiver_begin(&receiver, section, RING_BYTES, false));
    send(LENGTH);
    share(0);
    for (unsigned i = 0; i < words; i++) {
        model_share(sender.ring + offset + i * sizeof(uint64_t), sizeof(uint64_t));
    }
}

static void prepare_begun(void)
{
    prepare_largest(RING_BYTES / 2 - 8, SIZE / sizeof(uint64_t) + 1);
}

/* The sender pauses while it writes a message, or ends. */
static void begin_to_send(void)
{
    (void)broadcast_send_begin(&sender, broadcast_content_max(RING_BYTES));
}

static void receive_all(void)
{
    while (receive() != 0) {
    }
    MODEL_CHECK(!broadcast_is_new(&receiver));
}

/* There is another message between, which begins at the mark. */
static void prepare_kept(void)
{
    prepare_largest(RING_BYTES / 2 - SIZE, 2 * SIZE / sizeof(uint64_t) + 1);
}

static void send_and_begin(void)
{
    send(LENGTH);
    begin_to_send();
}

static void receive_kept(uint64_t length)
{
    while (receiver.number < 3) {
        if (!broadcast_is_new(&receiver)) {
            model_await_unread(&control()->produced);
        }
        if (receive() == 0) {
            (void)receive_up_to(length);
        }
    }
}

static void receive_newest(void)
{
    receive_kept(LENGTH);
}

/* The same, and it ends where the ring does. */
static void send_largest_and_begin(void)
{
    send(broadcast_content_max(RING_BYTES));
    begin_to_send();
}

static void receive_largest(void)
{
    receive_kept(broadcast_content_max(RING_BYTES));
}

static const struct order_program programs[] = {
    {{"next", prepare_next, {send_two, receive_two}}, 3000000},
    {{"overwritten", prepare_full, {send_one, receive_any}}, 3000000},
    {{"begin", prepare_begin, {begin_and_send, begin_and_receive}}, 3000000},
    {{"skipped", prepare_skip, {send_one, receive_any}}, 3000000},
    {{"begun", prepare_begun, {begin_to_send, receive_all}}, 3000000},
    {{"kept", prepare_kept, {send_and_begin, receive_newest}}, 3000000},
    {{"kept at the end", prepare_kept, {send_largest_and_begin, receive_largest}}, 3000000},
};

int main(void)
{
    return orders_test(programs, sizeof(programs) / sizeof(programs[0]), ORDERS);
}
