/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs: messages of one size with a single header. */
#include "channel/run.h"
#include "pair.h"
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define BYTES PAIR_RING_BYTES

/* Messages of 8 bytes in the longest run: half the ring. */
#define LONGEST ((BYTES / 2 - sizeof(struct channel_message)) / 8)

/* Large enough for a run with the most messages. */
#define LARGE_RING UINT64_C(65536)

static void fill(uint8_t *place, uint64_t length, uint64_t number)
{
    for (uint64_t i = 0; i < length; i++) {
        place[i] = (uint8_t)(number + i);
    }
}

static void check(const uint8_t *content, uint64_t length, uint64_t number)
{
    assert_int_equal((uintptr_t)content % 8, 0);
    for (uint64_t i = 0; i < length; i++) {
        assert_int_equal(content[i], (uint8_t)(number + i));
    }
}

/* Sends up to `count` messages of `length` bytes, with the numbers from `first`, as a run. Returns
 * how many. */
static uint64_t send_run(struct channel *channel, uint64_t length, uint64_t first, uint64_t count)
{
    struct send_run run = channel_send_run_begin(channel, length, (uint32_t)length);
    uint8_t *place;

    while (run.count < count && (place = send_run_reserve(&run)) != NULL) {
        assert_int_equal((uintptr_t)place % 8, 0);
        fill(place, length, first + run.count);
        send_run_commit(&run);
    }
    channel_send_run_end(channel, &run);
    return run.count;
}

/* Does the same with one reservation. */
static uint64_t send_many(struct channel *channel, uint64_t length, uint64_t first, uint64_t most)
{
    struct send_run run = channel_send_run_begin(channel, length, (uint32_t)length);
    uint64_t count;
    uint8_t *places = send_run_reserve_many(&run, most, &count);

    assert_true(count <= most);
    for (uint64_t i = 0; i < count; i++) {
        fill(places + i * ring_run_step(length), length, first + i);
    }
    send_run_commit_many(&run, count);
    channel_send_run_end(channel, &run);
    return count;
}

/* Receives a message of a run. Looks at it twice. */
static void expect(struct channel *channel, uint64_t length, uint64_t number)
{
    for (unsigned i = 0; i < 2; i++) {
        uint64_t found = 0;
        uint32_t tag = 0;
        const uint8_t *content = channel_receive_begin(channel, &found, &tag);

        assert_non_null(content);
        assert_int_equal(found, length);
        assert_int_equal(tag, length);
        check(content, length, number);
    }
    channel_receive_end(channel);
}

/* Receives one batch, whose messages have `length` bytes and numbers from `first`. Returns how
 * many. */
static uint64_t receive_batch(struct channel *channel, uint64_t length, uint64_t first,
                              uint64_t count)
{
    struct receive_batch batch = channel_receive_batch_begin(channel);

    while (batch.count < count) {
        uint64_t number = first + batch.count;
        uint64_t found = 0;
        uint32_t tag = 0;
        const uint8_t *content = receive_batch_next(&batch, &found, &tag);

        if (content == NULL) {
            break;
        }
        assert_int_equal(found, length);
        assert_int_equal(tag, length);
        check(content, length, number);
    }
    channel_receive_batch_end(channel, &batch);
    return batch.count;
}

/* Receives up to `most` messages of a run with one call. Returns how many. */
static uint64_t receive_many(struct channel *channel, uint64_t length, uint64_t first,
                             uint64_t most)
{
    struct receive_batch batch = channel_receive_batch_begin(channel);
    uint64_t count = UINT64_MAX;
    uint32_t tag = 0;
    const uint8_t *contents = receive_batch_next_many(&batch, length, most, &count, &tag);

    assert_true(count <= most);
    assert_int_equal(batch.count, count);
    for (uint64_t i = 0; i < count; i++) {
        assert_int_equal(tag, length);
        check(contents + i * ring_run_step(length), length, first + i);
    }
    channel_receive_batch_end(channel, &batch);
    return count;
}

static void test_contiguous_messages(void **state)
{
    struct pair_fixture *fixture = *state;

    assert_int_equal(receive_many(fixture->receiver, 5, 0, BYTES), 0);
    assert_int_equal(send_many(fixture->sender, 5, 0, 6), 6);
    assert_int_equal(send_many(fixture->sender, 8, 6, 3), 3);
    assert_int_equal(channel_send(fixture->sender, "12345678", 8, 1), CHANNEL_DONE);
    assert_int_equal(receive_many(fixture->receiver, 0, 0, BYTES), 0);
    assert_int_equal(receive_many(fixture->receiver, 8, 0, BYTES), 0); /* another length */
    assert_int_equal(receive_many(fixture->receiver, 5, 0, 0), 0);
    assert_int_equal(receive_many(fixture->receiver, 5, 0, 4), 4);
    expect(fixture->receiver, 5, 4);
    assert_int_equal(receive_many(fixture->receiver, 5, 5, BYTES), 1);
    assert_int_equal(receive_many(fixture->receiver, 8, 6, UINT64_MAX), 3);
    assert_int_equal(receive_many(fixture->receiver, 8, 9, BYTES), 0); /* not in a run */
    assert_int_equal(fixture->pair.sections[1]->control.received, 9);
}

static void test_contiguous_places_end_with_the_space(void **state)
{
    struct pair_fixture *fixture = *state;

    assert_int_equal(send_many(fixture->sender, 8, 0, UINT64_MAX), LONGEST);
    assert_int_equal(send_many(fixture->sender, 8, LONGEST, UINT64_MAX), LONGEST);
    assert_int_equal(send_many(fixture->sender, 8, 0, UINT64_MAX), 0);
    assert_int_equal(send_many(fixture->sender, 0, 0, UINT64_MAX), 0);
    assert_int_equal(receive_many(fixture->receiver, 8, 0, UINT64_MAX), LONGEST);
    assert_int_equal(receive_many(fixture->receiver, 8, LONGEST, UINT64_MAX), LONGEST);
}

static void test_a_run_is_seen_at_its_end(void **state)
{
    struct pair_fixture *fixture = *state;
    struct send_run run = channel_send_run_begin(fixture->sender, 5, 5);

    for (uint64_t number = 0; number < 3; number++) {
        fill(send_run_reserve(&run), 5, number);
        send_run_commit(&run);
        pair_expect_nothing(fixture->receiver);
    }
    channel_send_run_end(fixture->sender, &run);
    for (uint64_t number = 0; number < 3; number++) {
        expect(fixture->receiver, 5, number);
    }
    pair_expect_nothing(fixture->receiver);
    assert_int_equal(fixture->pair.sections[0]->control.sent, 3);
    assert_int_equal(fixture->pair.sections[1]->control.received, 3);
    /* One header, and three contents of 8 bytes. */
    assert_int_equal(fixture->pair.sections[0]->control.produced, 32);
    assert_int_equal(fixture->pair.sections[1]->control.consumed, 32);
}

static void test_a_batch_has_the_rest_of_a_run(void **state)
{
    struct pair_fixture *fixture = *state;

    assert_int_equal(send_run(fixture->sender, 8, 0, 6), 6);
    assert_int_equal(send_run(fixture->sender, 9, 6, 2), 2);
    expect(fixture->receiver, 8, 0);
    assert_int_equal(receive_batch(fixture->receiver, 8, 1, 2), 2);
    expect(fixture->receiver, 8, 3);
    assert_int_equal(receive_batch(fixture->receiver, 8, 4, BYTES), 2);
    assert_int_equal(receive_batch(fixture->receiver, 9, 6, BYTES), 2);
    assert_int_equal(receive_batch(fixture->receiver, 9, 8, BYTES), 0);
}

static void test_space_becomes_free_within_a_run(void **state)
{
    struct pair_fixture *fixture = *state;

    assert_int_equal(send_run(fixture->sender, 8, 0, BYTES), LONGEST);
    assert_int_equal(send_run(fixture->sender, 8, LONGEST, BYTES), LONGEST);
    assert_int_equal(send_run(fixture->sender, 8, 0, BYTES), 0);
    expect(fixture->receiver, 8, 0);
    expect(fixture->receiver, 8, 1);
    /* The header and two contents. */
    assert_int_equal(send_run(fixture->sender, 8, 2 * LONGEST, BYTES), 2);
    assert_int_equal(send_run(fixture->sender, 8, 0, BYTES), 0);
}

static void test_other_lengths_make_no_run(void **state)
{
    struct pair_fixture *fixture = *state;

    assert_int_equal(send_run(fixture->sender, 0, 0, 1), 0);
    assert_int_equal(send_run(fixture->sender, channel_content_max(BYTES) + 1, 0, 1), 0);
    assert_int_equal(send_run(fixture->sender, CHANNEL_RUN_LENGTH_MAX + 1, 0, 1), 0);
    assert_int_equal(send_run(fixture->sender, UINT64_MAX, 0, 1), 0);
    pair_expect_nothing(fixture->receiver);
    assert_int_equal(send_run(fixture->sender, channel_content_max(BYTES), 0, 2), 1);
    expect(fixture->receiver, channel_content_max(BYTES), 0);
}

/* The run is as long as the header can tell. */
static void test_a_run_has_a_largest_number_of_messages(void **state)
{
    static _Alignas(CHANNEL_CONTROL_BYTES) uint8_t section[CHANNEL_CONTROL_BYTES + LARGE_RING];
    static struct channel_control other;
    struct ring_producer producer;
    struct ring_consumer consumer;
    struct send_run run;
    const uint8_t *content;
    uint64_t length;
    uint32_t tag;

    (void)state;
    ring_producer_begin(&producer, section, &other, LARGE_RING, 0);
    ring_consumer_begin(&consumer, section, &other, LARGE_RING, 0);
    run = ring_send_run_begin(&producer, 8, 1);
    while (send_run_reserve(&run) != NULL) {
        fill(send_run_reserve(&run), 8, run.count);
        send_run_commit(&run);
    }
    assert_int_equal(run.count, CHANNEL_RUN_COUNT_MAX);
    ring_send_run_end(&producer, &run);
    for (uint64_t i = 0; i < CHANNEL_RUN_COUNT_MAX; i++) {
        content = ring_peek(&consumer, &length, &tag);
        assert_non_null(content);
        check(content, length, i);
        (void)ring_release(&consumer);
    }
    assert_null(ring_peek(&consumer, &length, &tag));
}

/* The messages of a test: how many were sent and received, and the length of each that was sent and
 * not received yet. Messages are numbered from 0; length_of() finds a length by its number. */
struct traffic {
    uint64_t lengths[1u << 16];
    uint64_t sent;
    uint64_t received;
};

static uint64_t *length_of(struct traffic *traffic, uint64_t number)
{
    return &traffic->lengths[number % (sizeof(traffic->lengths) / sizeof(traffic->lengths[0]))];
}

static void send_some(struct pair_fixture *fixture, struct traffic *traffic, uint64_t random)
{
    uint64_t length = 1 + random / 8 % 40;
    uint64_t count = 0;

    if (random % 2 == 0) {
        uint64_t most = random / 512 % 80;

        count = random / 4 % 2 == 0 ? send_run(fixture->sender, length, traffic->sent, most)
                                    : send_many(fixture->sender, length, traffic->sent, most);
    } else {
        uint8_t content[40];

        fill(content, length, traffic->sent);
        if (channel_send(fixture->sender, content, length, (uint32_t)length) == CHANNEL_DONE) {
            count = 1;
        }
    }
    for (uint64_t i = 0; i < count; i++) {
        *length_of(traffic, traffic->sent++) = length;
    }
}

static void receive_some(struct pair_fixture *fixture, struct traffic *traffic, uint64_t random)
{
    uint64_t length = *length_of(traffic, traffic->received);
    uint64_t same = 1;

    if (traffic->received == traffic->sent) {
        pair_expect_nothing(fixture->receiver);
        return;
    }
    if (random % 4 == 3) { /* the next message need not be in a run */
        traffic->received +=
            receive_many(fixture->receiver, length, traffic->received, random / 4 % 80);
        return;
    }
    if (random % 2 == 0) {
        expect(fixture->receiver, length, traffic->received);
        traffic->received++;
        return;
    }
    /* A batch may have messages of different sizes. */
    while (traffic->received + same < traffic->sent &&
           *length_of(traffic, traffic->received + same) == length) {
        same++;
    }
    traffic->received += receive_batch(fixture->receiver, length, traffic->received, same);
}

/* Runs and single messages, received in batches or not, at any position. */
static void test_mixed_traffic(void **state)
{
    static struct traffic traffic;
    struct pair_fixture *fixture = *state;
    uint64_t random = 88172645463325252u;

    for (unsigned i = 0; i < 200000; i++) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        if (random % 3 == 0) {
            send_some(fixture, &traffic, random / 3);
        } else {
            receive_some(fixture, &traffic, random / 3);
        }
    }
    while (traffic.received < traffic.sent) {
        receive_some(fixture, &traffic, 0);
    }
    assert_true(traffic.sent > 100000);
    assert_int_equal(fixture->pair.sections[0]->control.sent, traffic.sent);
    assert_int_equal(fixture->pair.sections[1]->control.received, traffic.sent);
}

/* A producer that waits for space is notified when a quarter of the ring became free, and when all
 * of it did. */
static void test_a_producer_that_waits_is_notified_within_a_run(void **state)
{
    struct pair_fixture *fixture = *state;
    unsigned bells = fixture->pair.bells[0];

    assert_int_equal(send_run(fixture->sender, 8, 0, BYTES), LONGEST);
    word_store(&fixture->pair.sections[0]->control.waits, CHANNEL_WAITS_FOR_SPACE);
    for (uint64_t i = 0; i < LONGEST; i++) {
        bool is_quarter = 8 * (i + 2) >= BYTES / 4; /* with the header */

        expect(fixture->receiver, 8, i);
        assert_int_equal(fixture->pair.bells[0],
                         bells + (i + 1 == LONGEST ? 2 : (is_quarter ? 1 : 0)));
    }
}

static void test_a_waiting_consumer_is_notified_once(void **state)
{
    struct pair_fixture *fixture = *state;
    unsigned bells = fixture->pair.bells[1];

    word_store(&fixture->pair.sections[1]->control.waits, CHANNEL_WAITS_FOR_MESSAGE);
    assert_int_equal(send_run(fixture->sender, 8, 0, 10), 10);
    assert_int_equal(fixture->pair.bells[1], bells + 1);
}

static uint64_t header_of(uint64_t count, uint64_t length)
{
    return CHANNEL_RUN | count << CHANNEL_RUN_COUNT_SHIFT | length;
}

/* `position`: of the header. */
static void check_refusal(struct pair_fixture *fixture, uint64_t header, uint64_t position,
                          uint64_t bytes)
{
    struct section *section = fixture->pair.sections[0];
    struct ring_consumer consumer;
    uint64_t length;
    uint32_t tag;

    ring_consumer_begin(&consumer, section, &fixture->pair.sections[1]->control, BYTES, position);
    memcpy(&section->ring[position % BYTES], &header, sizeof(header));
    section->control.produced = position + bytes;
    assert_null(ring_peek(&consumer, &length, &tag));
    assert_int_equal(consumer.error.kind, CHANNEL_ERROR_LENGTH);
    assert_int_equal(consumer.error.value, header);
    assert_null(ring_peek(&consumer, &length, &tag));
}

static void test_headers_are_checked(void **state)
{
    struct pair_fixture *fixture = *state;

    check_refusal(fixture, header_of(0, 8), 0, 64);
    check_refusal(fixture, header_of(1, 0), 0, 64);
    check_refusal(fixture, header_of(CHANNEL_RUN_COUNT_MAX + 1, 0), 0, 64);
    check_refusal(fixture, header_of(8, 8), 0, 64);
    check_refusal(fixture, header_of(1, 57), 0, 64);
    check_refusal(fixture, header_of(2, CHANNEL_RUN_LENGTH_MAX), 0, BYTES);
    check_refusal(fixture, header_of(LONGEST + 1, 8), 0, BYTES);
    /* It continues after the ring's end. */
    check_refusal(fixture, header_of(4, 8), BYTES - 32, 64);
}

/* The number of messages that no run has, although they would fit. */
static void test_the_number_of_messages_is_checked(void **state)
{
    static _Alignas(CHANNEL_CONTROL_BYTES) uint8_t section[CHANNEL_CONTROL_BYTES + LARGE_RING];
    static struct channel_control other;
    struct channel_control *control = (void *)section;
    const uint64_t header = header_of(CHANNEL_RUN_COUNT_MAX + 1, 8);
    struct ring_consumer consumer;
    uint64_t length;
    uint32_t tag;

    (void)state;
    ring_consumer_begin(&consumer, section, &other, LARGE_RING, 0);
    memcpy(section + CHANNEL_CONTROL_BYTES, &header, sizeof(header));
    control->produced = LARGE_RING;
    assert_null(ring_peek(&consumer, &length, &tag));
    assert_int_equal(consumer.error.kind, CHANNEL_ERROR_LENGTH);
}

/* The header is read once: what the sender writes into it later has no effect. */
static void test_a_header_that_changes_has_no_effect(void **state)
{
    struct pair_fixture *fixture = *state;

    assert_int_equal(send_run(fixture->sender, 8, 0, 4), 4);
    expect(fixture->receiver, 8, 0);
    word_store(channel_word(fixture->pair.sections[0]->ring), header_of(2, 100));
    for (uint64_t i = 1; i < 4; i++) {
        expect(fixture->receiver, 8, i);
    }
    pair_expect_nothing(fixture->receiver);
}

/* A receiver that resets the channel in the middle of a run drops the rest of the run, and receives
 * the messages of the new connection. */
static void test_a_new_life_begins_outside_a_run(void **state)
{
    struct pair_fixture *fixture = *state;

    assert_int_equal(send_run(fixture->sender, 8, 0, 4), 4);
    expect(fixture->receiver, 8, 0);
    channel_reset(fixture->receiver);
    pair_settle(&fixture->pair);
    channel_accept(fixture->sender);
    pair_settle(&fixture->pair);
    assert_int_equal(fixture->receiver->state, CHANNEL_CONNECTED);
    assert_int_equal(send_run(fixture->sender, 16, 7, 2), 2);
    expect(fixture->receiver, 16, 7);
    expect(fixture->receiver, 16, 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_a_run_is_seen_at_its_end, pair_set_up, pair_tear_down),
        cmocka_unit_test_setup_teardown(test_contiguous_messages, pair_set_up, pair_tear_down),
        cmocka_unit_test_setup_teardown(test_contiguous_places_end_with_the_space, pair_set_up,
                                        pair_tear_down),
        cmocka_unit_test_setup_teardown(test_a_batch_has_the_rest_of_a_run, pair_set_up,
                                        pair_tear_down),
        cmocka_unit_test_setup_teardown(test_space_becomes_free_within_a_run, pair_set_up,
                                        pair_tear_down),
        cmocka_unit_test_setup_teardown(test_other_lengths_make_no_run, pair_set_up,
                                        pair_tear_down),
        cmocka_unit_test(test_a_run_has_a_largest_number_of_messages),
        cmocka_unit_test_setup_teardown(test_mixed_traffic, pair_set_up, pair_tear_down),
        cmocka_unit_test_setup_teardown(test_a_producer_that_waits_is_notified_within_a_run,
                                        pair_set_up, pair_tear_down),
        cmocka_unit_test_setup_teardown(test_a_waiting_consumer_is_notified_once, pair_set_up,
                                        pair_tear_down),
        cmocka_unit_test_setup_teardown(test_headers_are_checked, pair_set_up, pair_tear_down),
        cmocka_unit_test(test_the_number_of_messages_is_checked),
        cmocka_unit_test_setup_teardown(test_a_header_that_changes_has_no_effect, pair_set_up,
                                        pair_tear_down),
        cmocka_unit_test_setup_teardown(test_a_new_life_begins_outside_a_run, pair_set_up,
                                        pair_tear_down),
    };

    return cmocka_run_group_tests_name("run", tests, NULL, NULL);
}
