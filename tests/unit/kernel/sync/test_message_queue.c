/* SPDX-License-Identifier: BSD-2-Clause */
/* Message queues. */
#include "kernel/sync.h"
#include "kernel_fixture.h"
#include <string.h>

static struct message_queue queue;
static uint32_t storage[3][2];

struct message {
    uint32_t number;
    uint32_t check;
};

static struct message message_of(uint32_t number)
{
    return (struct message){number, ~number};
}

static void set_up(uint32_t capacity)
{
    message_queue_init(&queue, storage, sizeof(struct message), capacity);
}

static enum result send(uint32_t number, uint64_t deadline)
{
    struct message message = message_of(number);

    return message_queue_send(&queue, &message, deadline);
}

static void expect(uint32_t number, uint64_t deadline)
{
    struct message message = {0, 0};

    CHECK_EQUAL(message_queue_receive(&queue, &message, deadline), RESULT_OK);
    CHECK_EQUAL(message.number, number);
    CHECK_EQUAL(message.check, ~number);
}

static void init_order(void)
{
    struct message message;

    set_up(3);
    CHECK_EQUAL(message_queue_receive(&queue, &message, DEADLINE_POLL), RESULT_TIMED_OUT);
    CHECK_EQUAL(message_queue_receive(&queue, &message, 20), RESULT_TIMED_OUT);
    CHECK_EQUAL(time_now(), 20);
    CHECK_EQUAL(send(0, DEADLINE_POLL), RESULT_OK);
    CHECK_EQUAL(send(1, DEADLINE_NONE), RESULT_OK);
    for (uint32_t i = 2; i < 20; i++) { /* wraps the ring several times */
        CHECK_EQUAL(send(i, DEADLINE_POLL), RESULT_OK);
        CHECK_EQUAL(queue.count, 3);
        CHECK_EQUAL(send(99, DEADLINE_POLL), RESULT_TIMED_OUT);
        CHECK_EQUAL(send(99, time_after(5)), RESULT_TIMED_OUT);
        expect(i - 2, DEADLINE_NONE);
    }
    expect(18, DEADLINE_NONE);
    expect(19, DEADLINE_NONE);
    CHECK_EQUAL(queue.count, 0);
}

static void test_order_and_limits(void **state)
{
    (void)state;
    kernel_run(init_order);
}

static void send_argument(void *argument)
{
    const uint32_t *number = argument;

    CHECK_EQUAL(send(*number, DEADLINE_NONE), RESULT_OK);
    note("sent");
}

static void receive_argument(void *argument)
{
    const uint32_t *number = argument;

    expect(*number, DEADLINE_NONE);
    note("received");
}

static void init_waiters(void)
{
    static uint32_t number[3] = {10, 11, 12};
    struct thread *thread[3];

    set_up(1);
    CHECK_EQUAL(send(1, DEADLINE_NONE), RESULT_OK);
    thread[0] = start("a", 40, send_argument, &number[0]);
    thread[1] = start("b", 41, send_argument, &number[1]);
    thread[2] = start("c", 40, send_argument, &number[2]);
    CHECK_NOTES("");
    /* A place is free, so the message of the most urgent sender moves into it. */
    expect(1, DEADLINE_POLL);
    CHECK_NOTES("sent");
    CHECK_EQUAL(send(2, DEADLINE_POLL), RESULT_TIMED_OUT);
    expect(11, DEADLINE_POLL);
    expect(10, DEADLINE_POLL);
    expect(12, DEADLINE_POLL);
    CHECK_NOTES("sent sent");
    for (unsigned i = 0; i < 3; i++) {
        finish(thread[i]);
    }

    /* Second, because it is less urgent. */
    thread[0] = start("a", 40, receive_argument, &number[1]);
    thread[1] = start("b", 41, receive_argument, &number[0]);
    CHECK_EQUAL(send(10, DEADLINE_POLL), RESULT_OK);
    CHECK_EQUAL(queue.count, 0); /* directly to the receiver */
    CHECK_EQUAL(send(11, DEADLINE_POLL), RESULT_OK);
    CHECK_NOTES("received received");
    finish(thread[0]);
    finish(thread[1]);
}

static void test_waiters(void **state)
{
    (void)state;
    kernel_run(init_waiters);
}

/* A sender that times out leaves no message behind. */
static void send_in_vain(void *argument)
{
    (void)argument;
    CHECK_EQUAL(send(77, time_after(10)), RESULT_TIMED_OUT);
}

static void init_give_up(void)
{
    struct message message;

    set_up(1);
    CHECK_EQUAL(send(1, DEADLINE_NONE), RESULT_OK);
    struct thread *sender = start("sender", 40, send_in_vain, NULL);

    host_clock_advance(10);
    expect(1, DEADLINE_POLL);
    CHECK_EQUAL(message_queue_receive(&queue, &message, DEADLINE_POLL), RESULT_TIMED_OUT);
    finish(sender);
}

static void test_sender_gives_up(void **state)
{
    (void)state;
    kernel_run(init_give_up);
}

#define COUNT 6u
static uint32_t next_expected;
static uint32_t from_interrupt;
static bool interrupt_sent;

static void receive_all(void *argument)
{
    (void)argument;
    while (next_expected < COUNT) {
        struct message message;
        enum result result = message_queue_receive(&queue, &message, time_after(30));

        if (result == RESULT_OK) {
            CHECK_EQUAL(message.check, ~message.number);
            if (message.number >= 1000) {
                from_interrupt++;
            } else {
                CHECK_EQUAL(message.number, next_expected);
                next_expected++;
            }
        }
        CHECK(time_now() < 2000);
    }
}

static void send_from_interrupt(void *argument)
{
    (void)argument;
    host_clock_advance(30);
    interrupt_sent = send(1000, DEADLINE_POLL) == RESULT_OK;
}

/* Messages keep their order, and none is lost or duplicated, wherever an interrupt sends
 * another. */
static void init_sweep(void)
{
    next_expected = 0;
    from_interrupt = 0;
    interrupt_sent = false;
    set_up(2);
    sweep_interrupt(send_from_interrupt, NULL);
    struct thread *receiver = start("receiver", INIT_PRIORITY, receive_all, NULL);

    for (uint32_t i = 0; i < COUNT; i++) {
        while (send(i, time_after(30)) != RESULT_OK) {
            CHECK(time_now() < 2000);
        }
    }
    finish(receiver);
    CHECK_EQUAL(from_interrupt + queue.count, interrupt_sent ? 1 : 0);
}

static void test_send_at_every_point(void **state)
{
    (void)state;
    kernel_sweep(init_sweep, 30);
}

static void receive_in_handler(void *argument)
{
    struct message message;

    (void)argument;
    if (message_queue_receive(&queue, &message, DEADLINE_POLL) == RESULT_OK) {
        CHECK_EQUAL(message.check, ~message.number);
        from_interrupt++;
    }
}

static void send_all(void *argument)
{
    (void)argument;
    for (uint32_t i = 0; i < COUNT; i++) {
        CHECK_EQUAL(send(i, DEADLINE_NONE), RESULT_OK);
    }
}

/* A handler that receives makes room and thereby wakes a sender. */
static void init_receive_sweep(void)
{
    uint32_t received = 0;
    struct message message;

    from_interrupt = 0;
    set_up(1);
    sweep_interrupt(receive_in_handler, NULL);
    struct thread *sender = start("sender", 40, send_all, NULL);

    while (message_queue_receive(&queue, &message, time_after(10)) == RESULT_OK) {
        CHECK(message.number >= received && message.number <= received + from_interrupt);
        received++;
    }
    CHECK_EQUAL(received + from_interrupt, COUNT);
    finish(sender);
}

static void test_receive_at_every_point(void **state)
{
    (void)state;
    kernel_sweep(init_receive_sweep, 20);
}

static void init_largest_message(void)
{
    static uint8_t room[2][MESSAGE_BYTES_MAX];
    uint8_t sent[MESSAGE_BYTES_MAX];
    uint8_t received[MESSAGE_BYTES_MAX] = {0};

    for (unsigned i = 0; i < MESSAGE_BYTES_MAX; i++) {
        sent[i] = (uint8_t)(i * 7 + 1);
    }
    message_queue_init(&queue, room, MESSAGE_BYTES_MAX, 2);
    CHECK_EQUAL(message_queue_send(&queue, sent, DEADLINE_POLL), RESULT_OK);
    CHECK_EQUAL(message_queue_receive(&queue, received, DEADLINE_POLL), RESULT_OK);
    CHECK(memcmp(sent, received, MESSAGE_BYTES_MAX) == 0);
}

static uint8_t storage_byte;

static void init_too_large_message(void)
{
    message_queue_init(&queue, &storage_byte, MESSAGE_BYTES_MAX + 1, 1);
}

static void init_empty_message(void)
{
    message_queue_init(&queue, &storage_byte, 0, 1);
}

static void init_no_capacity(void)
{
    message_queue_init(&queue, &storage_byte, 1, 0);
}

/* Messages are copied with interrupts masked, so their size has a limit. */
static void test_message_sizes(void **state)
{
    (void)state;
    kernel_run(init_largest_message);
    kernel_panics(init_too_large_message, "message queue: 1 messages of 257 bytes");
    kernel_panics(init_empty_message, "message queue");
    kernel_panics(init_no_capacity, "message queue");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_message_sizes),
        cmocka_unit_test(test_order_and_limits),
        cmocka_unit_test(test_waiters),
        cmocka_unit_test(test_sender_gives_up),
        cmocka_unit_test(test_send_at_every_point),
        cmocka_unit_test(test_receive_at_every_point),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
