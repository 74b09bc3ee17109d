/* SPDX-License-Identifier: BSD-2-Clause */
/* One-way channels: receivers that are fast, slow, or late; hostile senders. */
#include "channel/broadcast.h"
#include "pair.h"
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define BYTES PAIR_RING_BYTES

struct fixture {
    struct pair pair;
    struct broadcast_sender sender;
    struct broadcast_receiver receiver;
    uint64_t buffer[BYTES / 16];
};

static int set_up(void **state)
{
    static struct fixture fixture;

    pair_create(&fixture.pair);
    assert_true(broadcast_sender_begin(&fixture.sender, fixture.pair.sections[0], BYTES));
    assert_true(
        broadcast_receiver_begin(&fixture.receiver, fixture.pair.sections[0], BYTES, false));
    *state = &fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;

    pair_destroy(&fixture->pair);
    return 0;
}

static void send(struct fixture *fixture, uint64_t length, uint8_t fill)
{
    uint8_t *place = broadcast_send_begin(&fixture->sender, length);

    assert_non_null(place);
    assert_int_equal((uintptr_t)place % 8, 0);
    memset(place, fill, (size_t)length);
    broadcast_send_end(&fixture->sender, length, fill);
}

static enum broadcast_result receive(struct fixture *fixture, uint64_t *length, uint32_t *tag)
{
    return broadcast_receive(&fixture->receiver, fixture->buffer, sizeof(fixture->buffer), length,
                             tag);
}

static void expect(struct fixture *fixture, uint64_t expected, uint8_t fill)
{
    const uint8_t *content = (const uint8_t *)fixture->buffer;
    uint64_t length = 0;
    uint32_t tag = 0;

    assert_int_equal(receive(fixture, &length, &tag), BROADCAST_RECEIVED);
    assert_int_equal(length, expected);
    assert_int_equal(tag, fill);
    for (uint64_t i = 0; i < length; i++) {
        assert_int_equal(content[i], fill);
    }
}

static void expect_result(struct fixture *fixture, enum broadcast_result result)
{
    uint64_t length;
    uint32_t tag;

    assert_int_equal(receive(fixture, &length, &tag), result);
}

static void test_a_fast_receiver_gets_every_message(void **state)
{
    struct fixture *fixture = *state;

    for (unsigned i = 0; i < 5000; i++) {
        uint64_t length = UINT64_C(37) * i % (broadcast_content_max(BYTES) + 1);

        send(fixture, length, (uint8_t)i);
        expect(fixture, length, (uint8_t)i);
        expect_result(fixture, BROADCAST_NONE);
    }
    assert_int_equal(fixture->receiver.lost, 0);
    assert_null(broadcast_send_begin(&fixture->sender, broadcast_content_max(BYTES) + 1));
}

/* It goes on with the newest message and knows how many it lost. */
static void test_a_slow_receiver_knows_how_many_it_lost(void **state)
{
    struct fixture *fixture = *state;

    send(fixture, 8, 1);
    expect(fixture, 8, 1);
    for (unsigned i = 0; i < 1000; i++) {
        send(fixture, 40, (uint8_t)i);
    }
    expect(fixture, 40, (uint8_t)999);
    assert_int_equal(fixture->receiver.lost, 999);
    expect_result(fixture, BROADCAST_NONE);
}

static void test_what_is_not_overwritten_is_received(void **state)
{
    struct fixture *fixture = *state;
    const unsigned fitting = BYTES / 24;

    for (unsigned i = 0; i < fitting; i++) {
        send(fixture, 8, (uint8_t)i);
    }
    for (unsigned i = 0; i < fitting; i++) {
        expect(fixture, 8, (uint8_t)i);
    }
    assert_int_equal(fixture->receiver.lost, 0);
}

static void test_a_late_receiver_begins_where_it_wants(void **state)
{
    struct fixture *fixture = *state;

    send(fixture, 8, 1);
    send(fixture, 8, 2);
    assert_true(
        broadcast_receiver_begin(&fixture->receiver, fixture->pair.sections[0], BYTES, true));
    expect(fixture, 8, 2);
    assert_true(
        broadcast_receiver_begin(&fixture->receiver, fixture->pair.sections[0], BYTES, false));
    expect_result(fixture, BROADCAST_NONE);
    send(fixture, 8, 3);
    send(fixture, 8, 4);
    broadcast_skip_to_newest(&fixture->receiver);
    expect(fixture, 8, 4);
    broadcast_skip_to_newest(&fixture->receiver);
    expect_result(fixture, BROADCAST_NONE);
}

/* A sender may take long to write a message, or end meanwhile. */
static void test_no_message_is_new_while_the_newest_one_is_overwritten(void **state)
{
    struct fixture *fixture = *state;

    send(fixture, 8, 1);
    send(fixture, broadcast_content_max(BYTES), 2);
    assert_non_null(broadcast_send_begin(&fixture->sender, broadcast_content_max(BYTES)));
    assert_true(broadcast_is_new(&fixture->receiver));
    expect_result(fixture, BROADCAST_NONE);
    assert_false(broadcast_is_new(&fixture->receiver));
    broadcast_send_end(&fixture->sender, 0, 3);
    expect(fixture, 0, 3);
}

static void test_the_sender_begins_anew(void **state)
{
    struct fixture *fixture = *state;

    for (unsigned i = 0; i < 300; i++) {
        send(fixture, 64, (uint8_t)i);
        /* It ended in the middle of another message. */
        memset(broadcast_send_begin(&fixture->sender, 500), 0xff, 500);
        assert_true(broadcast_sender_begin(&fixture->sender, fixture->pair.sections[0], BYTES));
        expect(fixture, 64, (uint8_t)i);
    }
    assert_int_equal(fixture->receiver.lost, 0);
}

/* The words that a send stores, in this order (broadcast.c). */
struct sent_words {
    uint64_t skip; /* in the unused rest of the ring */
    uint64_t overwritten;
    uint64_t header;
    uint64_t number;
    uint64_t produced;
    uint64_t last;
    uint64_t sent;
};

enum send_step {
    REST_SKIPPED,
    PLACE_MARKED,
    HEADER_STORED,
    NUMBER_STORED,
    PRODUCED_STORED,
    LAST_STORED,
};

/* A message of SECOND bytes does not fit into the REST bytes after the first messages. */
#define REST   32
#define SECOND 40

static uint64_t *skip_word(struct fixture *fixture)
{
    return channel_word(&fixture->pair.sections[0]->ring[BYTES - REST]);
}

static struct sent_words sent_words(struct fixture *fixture)
{
    const struct channel_control *control = &fixture->pair.sections[0]->control;
    const uint64_t *message = channel_word(fixture->pair.sections[0]->ring);

    return (struct sent_words){
        .skip = *skip_word(fixture),
        .overwritten = control->overwritten,
        .header = message[0],
        .number = message[1],
        .produced = control->produced,
        .last = control->last,
        .sent = control->sent,
    };
}

/* Undoes the stores of a send after this step. */
static void undo_after(struct fixture *fixture, enum send_step step,
                       const struct sent_words *before)
{
    struct channel_control *control = &fixture->pair.sections[0]->control;
    uint64_t *message = channel_word(fixture->pair.sections[0]->ring);

    control->sent = before->sent;
    control->last = step < LAST_STORED ? before->last : control->last;
    control->produced = step < PRODUCED_STORED ? before->produced : control->produced;
    message[1] = step < NUMBER_STORED ? before->number : message[1];
    message[0] = step < HEADER_STORED ? before->header : message[0];
    control->overwritten = step < PLACE_MARKED ? before->overwritten : control->overwritten;
}

/* A life ends in the middle of a send, whose message goes to the start of the ring. If `is_sent`,
 * receivers get it. They get the messages before and after it in any case, and lose none. */
static void crash_after(struct fixture *fixture, enum send_step step, bool is_sent)
{
    struct channel_control *control = &fixture->pair.sections[0]->control;
    struct sent_words before;

    send(fixture, broadcast_content_max(BYTES), 1);
    expect(fixture, broadcast_content_max(BYTES), 1);
    send(fixture, broadcast_content_max(BYTES) - REST, 2);
    before = sent_words(fixture);
    send(fixture, SECOND, 3);
    assert_int_equal(*skip_word(fixture), CHANNEL_SKIP);
    undo_after(fixture, step, &before);
    assert_true(broadcast_sender_begin(&fixture->sender, control, BYTES));
    assert_int_equal(control->sent, is_sent ? 3 : 2);

    expect(fixture, broadcast_content_max(BYTES) - REST, 2);
    if (is_sent) {
        expect(fixture, SECOND, 3);
    }
    expect_result(fixture, BROADCAST_NONE);
    send(fixture, 8, 4);
    expect(fixture, 8, 4);
    assert_int_equal(fixture->receiver.lost, 0);
}

static void test_a_life_ends_after_it_skipped_the_rest(void **state)
{
    crash_after(*state, REST_SKIPPED, false);
}

static void test_a_life_ends_after_it_marked_the_place(void **state)
{
    crash_after(*state, PLACE_MARKED, false);
}

static void test_a_life_ends_after_it_stored_the_header(void **state)
{
    crash_after(*state, HEADER_STORED, false);
}

static void test_a_life_ends_after_it_stored_the_number(void **state)
{
    crash_after(*state, NUMBER_STORED, false);
}

static void test_a_life_ends_after_it_stored_produced(void **state)
{
    crash_after(*state, PRODUCED_STORED, true);
}

static void test_a_life_ends_after_it_stored_last(void **state)
{
    crash_after(*state, LAST_STORED, true);
}

static void test_a_small_buffer_leaves_the_message(void **state)
{
    struct fixture *fixture = *state;
    uint64_t length;
    uint32_t tag;

    send(fixture, 17, 1);
    assert_int_equal(broadcast_receive(&fixture->receiver, fixture->buffer, 16, &length, &tag),
                     BROADCAST_TOO_LARGE);
    assert_int_equal(length, 17);
    expect(fixture, 17, 1);
}

static void test_words_of_the_sender_are_checked(void **state)
{
    struct fixture *fixture = *state;
    const uint64_t wrong = broadcast_content_max(BYTES) + 1;

    send(fixture, 8, 1);
    fixture->pair.sections[0]->control.produced = 23;
    expect_result(fixture, BROADCAST_FAILED);
    assert_int_equal(fixture->receiver.error.kind, CHANNEL_ERROR_PRODUCED);
    broadcast_receiver_begin(&fixture->receiver, fixture->pair.sections[0], BYTES, true);
    fixture->pair.sections[0]->control.produced = 24;
    memcpy(fixture->pair.sections[0]->ring, &wrong, 8);
    expect_result(fixture, BROADCAST_FAILED);
    assert_int_equal(fixture->receiver.error.kind, CHANNEL_ERROR_LENGTH);
    expect_result(fixture, BROADCAST_FAILED);
    broadcast_receiver_begin(&fixture->receiver, fixture->pair.sections[0], BYTES, true);
    fixture->pair.sections[0]->control.format = CHANNEL_FORMAT_MESSAGES;
    expect_result(fixture, BROADCAST_FAILED);
    assert_int_equal(fixture->receiver.error.kind, CHANNEL_ERROR_FORMAT);
}

/* A malicious life may have given its messages any numbers. */
static void test_no_loss_is_counted_without_one(void **state)
{
    struct fixture *fixture = *state;

    send(fixture, 8, 1);
    fixture->sender.number = 1000;
    send(fixture, 8, 2);
    fixture->sender.number = 5;
    send(fixture, 8, 3);
    expect(fixture, 8, 1);
    expect(fixture, 8, 2);
    expect(fixture, 8, 3);
    assert_int_equal(fixture->receiver.lost, 999);
}

/* Random words and contents: the receiver, and the sender's next life, stay within the ring and
 * return. */
static void test_every_word_can_have_any_value(void **state)
{
    struct fixture *fixture = *state;
    struct channel_control *control = &fixture->pair.sections[0]->control;
    uint64_t random = 88172645463325252u;

    for (unsigned i = 0; i < 100000; i++) {
        uint64_t *words[] = {&control->produced, &control->overwritten, &control->last,
                             channel_word(fixture->pair.sections[0]->ring)};

        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        *words[random % 4] = random >> (random >> 3) % 64;
        (void)receive(fixture, &(uint64_t){0}, &(uint32_t){0});
        if (fixture->receiver.error.kind != CHANNEL_ERROR_NONE) {
            broadcast_receiver_begin(&fixture->receiver, fixture->pair.sections[0], BYTES,
                                     random % 2 == 0);
        }
        if (random % 16 == 0) {
            assert_true(broadcast_sender_begin(&fixture->sender, control, BYTES));
            send(fixture, 8, 1);
        }
    }
}

/* A malicious life leaves any words in its section. Receivers get the messages of the next life,
 * whether they begin after it or have waited at a position. */
static void test_messages_after_a_malicious_life_are_received(void **state)
{
    struct fixture *fixture = *state;
    struct channel_control *control = &fixture->pair.sections[0]->control;
    const uint64_t left[] = {UINT64_MAX, UINT64_C(1) << 63, UINT64_C(1) << 40, UINT64_C(1) << 62};

    for (unsigned i = 0; i < 4 * sizeof(left) / sizeof(left[0]); i++) {
        control->produced = (i & 4) != 0 ? left[i % 4] : control->produced;
        control->overwritten = left[i % 4];
        control->last = (i & 8) != 0 ? left[i % 4] : control->last;
        assert_true(broadcast_sender_begin(&fixture->sender, control, BYTES));
        if (i % 4 != 3) {
            assert_true(broadcast_receiver_begin(&fixture->receiver, control, BYTES, i % 2 == 0));
        }
        for (unsigned j = 0; j < 1000; j++) {
            send(fixture, 8, (uint8_t)j);
            expect(fixture, 8, (uint8_t)j);
        }
    }
}

/* A receiver goes on from life to life of the sender, also beyond the largest number. */
static void test_positions_wrap_from_life_to_life(void **state)
{
    struct fixture *fixture = *state;
    struct channel_control *control = &fixture->pair.sections[0]->control;
    const uint64_t left[] = {UINT64_MAX / 2 + 1 - 2 * BYTES, UINT64_MAX + 1 - 2 * BYTES};

    for (unsigned i = 0; i < sizeof(left) / sizeof(left[0]); i++) {
        control->produced = left[i];
        assert_true(broadcast_sender_begin(&fixture->sender, control, BYTES));
        assert_true(broadcast_receiver_begin(&fixture->receiver, control, BYTES, false));
        for (unsigned life = 0; life < 200; life++) {
            assert_true(broadcast_sender_begin(&fixture->sender, control, BYTES));
            for (unsigned number = 0; number < 3; number++) {
                send(fixture, 8 + number, (uint8_t)life);
            }
            for (unsigned number = 0; number < 3; number++) {
                expect(fixture, 8 + number, (uint8_t)life);
            }
            assert_false(broadcast_is_new(&fixture->receiver));
        }
        assert_int_equal(fixture->receiver.lost, 0);
    }
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_a_fast_receiver_gets_every_message),
        TEST(test_a_slow_receiver_knows_how_many_it_lost),
        TEST(test_what_is_not_overwritten_is_received),
        TEST(test_a_late_receiver_begins_where_it_wants),
        TEST(test_no_message_is_new_while_the_newest_one_is_overwritten),
        TEST(test_the_sender_begins_anew),
        TEST(test_a_life_ends_after_it_skipped_the_rest),
        TEST(test_a_life_ends_after_it_marked_the_place),
        TEST(test_a_life_ends_after_it_stored_the_header),
        TEST(test_a_life_ends_after_it_stored_the_number),
        TEST(test_a_life_ends_after_it_stored_produced),
        TEST(test_a_life_ends_after_it_stored_last),
        TEST(test_a_small_buffer_leaves_the_message),
        TEST(test_words_of_the_sender_are_checked),
        TEST(test_no_loss_is_counted_without_one),
        TEST(test_every_word_can_have_any_value),
        TEST(test_messages_after_a_malicious_life_are_received),
        TEST(test_positions_wrap_from_life_to_life),
    };

    return cmocka_run_group_tests_name("broadcast", tests, NULL, NULL);
}
