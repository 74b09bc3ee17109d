/* SPDX-License-Identifier: BSD-2-Clause */
/* The ring of a channel: space, order, notifications, and a peer that violates the format. */
#include "channel/ring.h"
#include "pair.h"
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#define BYTES PAIR_RING_BYTES

struct fixture {
    struct pair pair;
    struct ring_producer producer;
    struct ring_consumer consumer;
};

static int set_up(void **state)
{
    static struct fixture fixture;

    pair_create(&fixture.pair);
    ring_producer_begin(&fixture.producer, fixture.pair.sections[0],
                        &fixture.pair.sections[1]->control, BYTES, 0);
    ring_consumer_begin(&fixture.consumer, fixture.pair.sections[0],
                        &fixture.pair.sections[1]->control, BYTES, 0);
    *state = &fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;

    pair_destroy(&fixture->pair);
    return 0;
}

static bool put(struct fixture *fixture, uint64_t length, uint8_t fill)
{
    uint8_t *place = ring_reserve(&fixture->producer, length);

    if (place == NULL) {
        return false;
    }
    assert_int_equal((uintptr_t)place % 8, 0);
    memset(place, fill, (size_t)length);
    ring_commit(&fixture->producer, length, fill);
    ring_publish(&fixture->producer);
    return true;
}

/* Returns what ring_release() returned. */
static bool take(struct fixture *fixture, uint64_t expected_length, uint8_t fill)
{
    uint64_t length = 0;
    uint32_t tag = 0;
    const uint8_t *content = ring_peek(&fixture->consumer, &length, &tag);

    assert_non_null(content);
    assert_int_equal(length, expected_length);
    assert_int_equal(tag, fill);
    for (uint64_t i = 0; i < length; i++) {
        assert_int_equal(content[i], fill);
    }
    return ring_release(&fixture->consumer);
}

static void take_nothing(struct fixture *fixture)
{
    uint64_t length;
    uint32_t tag;

    assert_null(ring_peek(&fixture->consumer, &length, &tag));
}

static void test_messages_keep_length_order_and_tag(void **state)
{
    struct fixture *fixture = *state;

    for (uint64_t length = 0; length < 40; length++) {
        assert_true(put(fixture, length, (uint8_t)length));
    }
    for (uint64_t length = 0; length < 40; length++) {
        take(fixture, length, (uint8_t)length);
    }
    take_nothing(fixture);
    assert_int_equal(fixture->consumer.error.kind, CHANNEL_ERROR_NONE);
}

static void test_a_message_is_seen_when_it_is_published(void **state)
{
    struct fixture *fixture = *state;

    assert_non_null(ring_reserve(&fixture->producer, 8));
    take_nothing(fixture);
    ring_commit(&fixture->producer, 3, 7);
    take_nothing(fixture);
    ring_publish(&fixture->producer);
    assert_non_null(ring_peek(&fixture->consumer, &(uint64_t){0}, &(uint32_t){0}));
}

/* From every position the largest message fits into an empty ring. */
static void test_the_largest_message_fits_everywhere(void **state)
{
    struct fixture *fixture = *state;
    const uint64_t largest = channel_content_max(BYTES);

    for (unsigned i = 0; i < 2 * BYTES / 8; i++) {
        assert_null(ring_reserve(&fixture->producer, largest + 1));
        assert_null(ring_reserve(&fixture->producer, UINT64_MAX));
        assert_true(put(fixture, largest, (uint8_t)i));
        take(fixture, largest, (uint8_t)i);
        assert_true(put(fixture, i % 16, (uint8_t)i));
        take(fixture, i % 16, (uint8_t)i);
    }
}

static void test_a_full_ring_has_no_space_until_a_release(void **state)
{
    struct fixture *fixture = *state;
    unsigned count = 0;

    while (put(fixture, 8, (uint8_t)count)) {
        count++;
    }
    assert_int_equal(count, BYTES / 16);
    take(fixture, 8, 0);
    assert_true(put(fixture, 8, (uint8_t)count));
    assert_false(put(fixture, 8, 0));
    for (unsigned i = 1; i <= count; i++) {
        take(fixture, 8, (uint8_t)i);
    }
    take_nothing(fixture);
}

/* Messages of all sizes, at random distances, against a list of what was sent. */
static void test_random_traffic(void **state)
{
    struct fixture *fixture = *state;
    uint64_t lengths[BYTES / 8];
    uint64_t random = 88172645463325252u;
    uint64_t sent = 0;
    uint64_t received = 0;

    for (unsigned i = 0; i < 200000; i++) {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        if (random % 2 == 0) {
            uint64_t length = (random >> 8) % ((random >> 40) % 8 == 0 ? 2041 : 64);

            if (put(fixture, length, (uint8_t)sent)) {
                lengths[sent++ % (BYTES / 8)] = length;
            }
        } else if (received < sent) {
            take(fixture, lengths[received % (BYTES / 8)], (uint8_t)received);
            received++;
        } else {
            take_nothing(fixture);
        }
    }
    assert_true(received > 50000);
    assert_int_equal(fixture->pair.sections[0]->control.sent, sent);
    assert_int_equal(fixture->pair.sections[1]->control.received, received);
}

static void test_a_consumer_that_waits_is_notified(void **state)
{
    struct fixture *fixture = *state;
    struct channel_control *consumer = &fixture->pair.sections[1]->control;

    put(fixture, 8, 1);
    assert_false(ring_consumer_waits(&fixture->producer));
    consumer->waits = CHANNEL_WAITS_FOR_SPACE;
    assert_false(ring_consumer_waits(&fixture->producer));
    consumer->waits = CHANNEL_WAITS_FOR_MESSAGE;
    assert_true(ring_consumer_waits(&fixture->producer));
}

static void test_a_producer_that_waits_is_notified_at_quarters_and_at_the_end(void **state)
{
    struct fixture *fixture = *state;
    unsigned notified = 0;

    while (put(fixture, 8, 0)) {
    }
    fixture->pair.sections[0]->control.waits = CHANNEL_WAITS_FOR_SPACE;
    for (unsigned i = 0; i < BYTES / 16; i++) {
        notified += take(fixture, 8, 0) && ring_producer_waits(&fixture->consumer);
    }
    assert_int_equal(notified, 4);
    take_nothing(fixture);
    assert_false(ring_producer_waits(&fixture->consumer));
}

/* The index of a malicious peer: each value that an honest one can't have is refused. */
static void test_produced_index_is_checked(void **state)
{
    struct fixture *fixture = *state;
    const uint64_t wrong[] = {1, 7, 20, BYTES + 24, UINT64_MAX - 7, UINT64_C(1) << 63};

    for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        ring_consumer_begin(&fixture->consumer, fixture->pair.sections[0],
                            &fixture->pair.sections[1]->control, BYTES, 16);
        fixture->pair.sections[0]->control.produced = wrong[i];
        take_nothing(fixture);
        assert_int_equal(fixture->consumer.error.kind, CHANNEL_ERROR_PRODUCED);
        assert_int_equal(fixture->consumer.error.value, wrong[i]);
        assert_int_equal(fixture->consumer.error.position, 16);
        fixture->pair.sections[0]->control.produced = 32;
        take_nothing(fixture);
    }
    assert_int_equal(fixture->pair.sections[1]->control.errors, sizeof(wrong) / sizeof(wrong[0]));
}

static void test_produced_index_does_not_go_back(void **state)
{
    struct fixture *fixture = *state;

    put(fixture, 8, 1);
    put(fixture, 8, 2);
    take(fixture, 8, 1);
    take(fixture, 8, 2);
    fixture->pair.sections[0]->control.produced = 16;
    take_nothing(fixture);
    assert_int_equal(fixture->consumer.error.kind, CHANNEL_ERROR_PRODUCED);
}

static void test_consumed_index_is_checked(void **state)
{
    struct fixture *fixture = *state;
    const uint64_t wrong[] = {1, 8, 12, 2 * BYTES, UINT64_MAX};

    for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        ring_producer_begin(&fixture->producer, fixture->pair.sections[0],
                            &fixture->pair.sections[1]->control, BYTES, 0);
        while (put(fixture, 8, 0)) {
        }
        /* One that is valid, so that the next one can go back behind it. */
        fixture->pair.sections[1]->control.consumed = 16;
        assert_true(put(fixture, 8, 0));
        fixture->pair.sections[1]->control.consumed = wrong[i];
        assert_false(put(fixture, 8, 0));
        assert_int_equal(fixture->producer.error.kind, CHANNEL_ERROR_CONSUMED);
        assert_int_equal(fixture->producer.error.value, wrong[i]);
        fixture->pair.sections[1]->control.consumed = BYTES;
        assert_false(put(fixture, 8, 0));
        fixture->pair.sections[1]->control.consumed = 0;
    }
}

/* Lengths that reach beyond the ring, beyond what was produced, or beyond the largest message. */
static void test_lengths_are_checked(void **state)
{
    struct fixture *fixture = *state;
    const uint64_t wrong[] = {
        9, 24, BYTES, channel_content_max(BYTES) + 1, UINT32_MAX - 1, CHANNEL_SKIP};

    for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        ring_consumer_begin(&fixture->consumer, fixture->pair.sections[0],
                            &fixture->pair.sections[1]->control, BYTES, 0);
        memcpy(fixture->pair.sections[0]->ring, &wrong[i], 8);
        fixture->pair.sections[0]->control.produced = 16;
        take_nothing(fixture);
        assert_int_equal(fixture->consumer.error.kind, CHANNEL_ERROR_LENGTH);
        assert_int_equal(fixture->consumer.error.value, wrong[i]);
        /* The error stays, even if the message becomes valid. */
        memset(fixture->pair.sections[0]->ring, 0, 8);
        take_nothing(fixture);
    }
}

/* Not only the first message that is complete is checked against the largest one. */
static void test_no_message_is_larger_than_the_largest(void **state)
{
    struct fixture *fixture = *state;
    const uint64_t largest = channel_content_max(BYTES);
    const uint64_t lengths[] = {largest, largest + 1, BYTES - 24};

    for (unsigned i = 0; i < sizeof(lengths) / sizeof(lengths[0]); i++) {
        ring_consumer_begin(&fixture->consumer, fixture->pair.sections[0],
                            &fixture->pair.sections[1]->control, BYTES, 0);
        memset(fixture->pair.sections[0]->ring, 0, BYTES);
        memcpy(&fixture->pair.sections[0]->ring[8], &lengths[i], 8);
        fixture->pair.sections[0]->control.produced = 8 + ring_size(lengths[i]);
        take(fixture, 0, 0);
        if (lengths[i] <= largest) {
            take(fixture, lengths[i], 0);
        } else {
            take_nothing(fixture);
            assert_int_equal(fixture->consumer.error.kind, CHANNEL_ERROR_LENGTH);
            assert_int_equal(fixture->consumer.error.value, lengths[i]);
            assert_int_equal(fixture->consumer.error.position, 8);
        }
    }
}

/* A message whose header says that it continues after the ring's end. */
static void test_a_message_does_not_cross_the_end(void **state)
{
    struct fixture *fixture = *state;
    const uint64_t header = 64;

    ring_consumer_begin(&fixture->consumer, fixture->pair.sections[0],
                        &fixture->pair.sections[1]->control, BYTES, BYTES - 32);
    memcpy(&fixture->pair.sections[0]->ring[BYTES - 32], &header, 8);
    fixture->pair.sections[0]->control.produced = BYTES + 64;
    take_nothing(fixture);
    assert_int_equal(fixture->consumer.error.kind, CHANNEL_ERROR_LENGTH);
}

/* The rest of the ring is skipped only as far as it was produced. */
static void test_skips_are_checked(void **state)
{
    struct fixture *fixture = *state;
    const uint64_t skip = CHANNEL_SKIP;

    ring_consumer_begin(&fixture->consumer, fixture->pair.sections[0],
                        &fixture->pair.sections[1]->control, BYTES, BYTES - 32);
    memcpy(&fixture->pair.sections[0]->ring[BYTES - 32], &skip, 8);
    fixture->pair.sections[0]->control.produced = BYTES - 16;
    take_nothing(fixture);
    assert_int_equal(fixture->consumer.error.kind, CHANNEL_ERROR_LENGTH);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_messages_keep_length_order_and_tag, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_message_is_seen_when_it_is_published, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_the_largest_message_fits_everywhere, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_a_full_ring_has_no_space_until_a_release, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_random_traffic, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_a_consumer_that_waits_is_notified, set_up, tear_down),
        cmocka_unit_test_setup_teardown(
            test_a_producer_that_waits_is_notified_at_quarters_and_at_the_end, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_produced_index_is_checked, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_produced_index_does_not_go_back, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_consumed_index_is_checked, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_lengths_are_checked, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_no_message_is_larger_than_the_largest, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(test_a_message_does_not_cross_the_end, set_up, tear_down),
        cmocka_unit_test_setup_teardown(test_skips_are_checked, set_up, tear_down),
    };

    return cmocka_run_group_tests_name("ring", tests, NULL, NULL);
}
