/* SPDX-License-Identifier: BSD-2-Clause */
/* Lives of both sides: connection, end, reset, the state table, and a peer that violates the
 * format. */
#include "pair.h"
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

static int set_up(void **state)
{
    static struct pair pair;

    pair_create(&pair);
    *state = &pair;
    return 0;
}

static int tear_down(void **state)
{
    pair_destroy(*state);
    return 0;
}

static void test_both_sides_connect_in_either_order(void **state)
{
    struct pair *pair = *state;

    for (unsigned first = 0; first < 2; first++) {
        pair_open(pair, first, false);
        channel_update(&pair->sides[first]);
        assert_int_equal(pair->sides[first].state, CHANNEL_CONNECTING);
        assert_false(pair_send(&pair->sides[first], 1));
        pair_open(pair, 1 - first, false);
        pair_settle(pair);
        assert_int_equal(pair->sides[0].state, CHANNEL_CONNECTED);
        assert_int_equal(pair->sides[1].state, CHANNEL_CONNECTED);
        assert_true(pair_send(&pair->sides[0], 10));
        assert_true(pair_send(&pair->sides[1], 20));
        pair_expect(&pair->sides[1], 10);
        pair_expect(&pair->sides[0], 20);
    }
}

static void test_sizes_of_rings_are_checked(void **state)
{
    struct pair *pair = *state;
    const uint64_t wrong[] = {0, 1, 2048, 4097, 12288, UINT64_C(1) << 31, UINT64_MAX};
    struct channel channel;

    for (unsigned i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        const struct channel_memory memory = {pair->sections[0], pair->sections[1], wrong[i], NULL};

        assert_false(channel_open(&channel, &memory, &(struct channel_port){0}));
    }
}

/* A life that ends leaves its messages. The peer receives them, and then the end, also when a new
 * life has already begun. */
static void test_messages_of_a_life_that_ended_are_received(void **state)
{
    struct pair *pair = *state;
    struct channel *survivor = &pair->sides[1];

    pair_connect(pair);
    for (uint64_t i = 0; i < 5; i++) {
        assert_true(pair_send(&pair->sides[0], i));
    }
    pair_open(pair, 0, false);
    channel_update(&pair->sides[0]);
    assert_false(pair_send(&pair->sides[0], 100));
    for (uint64_t i = 0; i < 5; i++) {
        pair_expect(survivor, i);
    }
    pair_expect_nothing(survivor);
    assert_int_equal(survivor->state, CHANNEL_ENDED);
    assert_false(pair_send(survivor, 1));
    channel_accept(survivor);
    pair_settle(pair);
    assert_int_equal(survivor->state, CHANNEL_CONNECTED);
    assert_true(pair_send(&pair->sides[0], 200));
    pair_expect(survivor, 200);
}

/* Half of a message was written when its sender ended. */
/* A side sends nothing before its peer has seen the connection: with the end of the life the peer
 * would never see it. */
static void test_nothing_is_sent_before_the_peer_is_connected(void **state)
{
    struct pair *pair = *state;

    pair_open(pair, 0, false);
    pair_open(pair, 1, false);
    assert_int_equal(channel_update(&pair->sides[0]), CHANNEL_CONNECTED);
    assert_false(pair_send(&pair->sides[0], 1));
    assert_int_equal(channel_update(&pair->sides[1]), CHANNEL_CONNECTED);
    assert_true(pair_send(&pair->sides[0], 2));
    channel_close(&pair->sides[0]);
    pair_expect(&pair->sides[1], 2);
    pair_expect_nothing(&pair->sides[1]);
    assert_int_equal(pair->sides[1].state, CHANNEL_ENDED);
}

static void test_an_unfinished_message_is_not_received(void **state)
{
    struct pair *pair = *state;
    uint8_t *place;

    pair_connect(pair);
    assert_true(pair_send(&pair->sides[0], 1));
    place = channel_send_begin(&pair->sides[0], 64);
    assert_non_null(place);
    memset(place, 0xff, 64);
    ring_commit(&pair->sides[0].out, 64, 0);
    pair_open(pair, 0, false);
    pair_expect(&pair->sides[1], 1);
    pair_expect_nothing(&pair->sides[1]);
    assert_int_equal(pair->sides[1].state, CHANNEL_ENDED);
}

static void test_a_new_life_receives_nothing_of_the_last(void **state)
{
    struct pair *pair = *state;

    pair_connect(pair);
    for (uint64_t i = 0; i < 5; i++) {
        assert_true(pair_send(&pair->sides[1], i));
    }
    pair_open(pair, 0, false);
    /* The peer has not noticed, and sends another message to the last life. */
    assert_true(pair_send(&pair->sides[1], 5));
    pair_expect_nothing(&pair->sides[0]);
    pair_expect_nothing(&pair->sides[1]);
    channel_accept(&pair->sides[1]);
    pair_settle(pair);
    pair_expect_nothing(&pair->sides[0]);
    assert_true(pair_send(&pair->sides[1], 6));
    pair_expect(&pair->sides[0], 6);
}

/* The last life had read nothing. The producer's space comes back with the connection. */
static void test_a_full_ring_is_free_after_a_new_connection(void **state)
{
    struct pair *pair = *state;

    pair_connect(pair);
    for (unsigned life = 0; life < 3; life++) {
        uint64_t sent = 0;

        while (pair_send(&pair->sides[1], sent)) {
            sent++;
        }
        assert_int_equal(sent, PAIR_RING_BYTES / 16);
        pair_open(pair, 0, false);
        pair_expect_nothing(&pair->sides[1]);
        channel_accept(&pair->sides[1]);
        pair_settle(pair);
        pair_expect_nothing(&pair->sides[0]);
    }
    assert_true(pair_send(&pair->sides[1], 1));
    pair_expect(&pair->sides[0], 1);
}

static void test_both_sides_end_at_once(void **state)
{
    struct pair *pair = *state;

    pair_connect(pair);
    assert_true(pair_send(&pair->sides[0], 1));
    assert_true(pair_send(&pair->sides[1], 2));
    pair_open(pair, 0, false);
    pair_open(pair, 1, false);
    pair_settle(pair);
    pair_expect_nothing(&pair->sides[0]);
    pair_expect_nothing(&pair->sides[1]);
    assert_true(pair_send(&pair->sides[0], 3));
    pair_expect(&pair->sides[1], 3);
}

static void test_reset_begins_a_new_life(void **state)
{
    struct pair *pair = *state;
    uint64_t generation;

    pair_connect(pair);
    assert_true(pair_send(&pair->sides[0], 1));
    generation = pair->sides[1].generation;
    channel_reset(&pair->sides[1]);
    assert_int_not_equal(pair->sides[1].generation, generation);
    pair_expect_nothing(&pair->sides[1]);
    pair_expect_nothing(&pair->sides[0]);
    assert_int_equal(pair->sides[0].state, CHANNEL_ENDED);
    channel_accept(&pair->sides[0]);
    pair_settle(pair);
    pair_expect_nothing(&pair->sides[1]);
    assert_true(pair_send(&pair->sides[0], 2));
    pair_expect(&pair->sides[1], 2);
}

/* A side that only sends connects again without receiving what remains. */
static void test_accept_drops_what_was_not_received(void **state)
{
    struct pair *pair = *state;

    pair_connect(pair);
    assert_true(pair_send(&pair->sides[0], 1));
    pair_open(pair, 0, false);
    while (pair_send(&pair->sides[1], 9)) {
    }
    assert_int_equal(pair->sides[1].state, CHANNEL_ENDING);
    channel_accept(&pair->sides[1]);
    pair_settle(pair);
    assert_int_equal(pair->sides[1].state, CHANNEL_CONNECTED);
    assert_true(pair_send(&pair->sides[0], 2));
    pair_expect(&pair->sides[1], 2);
}

static void test_close_is_an_end_without_another_life(void **state)
{
    struct pair *pair = *state;

    pair_connect(pair);
    assert_true(pair_send(&pair->sides[0], 1));
    channel_close(&pair->sides[0]);
    pair_expect(&pair->sides[1], 1);
    pair_expect_nothing(&pair->sides[1]);
    assert_int_equal(pair->sides[1].state, CHANNEL_ENDED);
    channel_accept(&pair->sides[1]);
    pair_settle(pair);
    assert_int_equal(pair->sides[1].state, CHANNEL_CONNECTING);
    assert_int_equal(pair->sides[0].state, CHANNEL_ENDED);
    pair_open(pair, 0, false);
    pair_settle(pair);
    assert_int_equal(pair->sides[1].state, CHANNEL_CONNECTED);
}

/* The partition of side 0 stops: the hypervisor sets its state to 0. */
static void test_the_state_table_tells_the_end(void **state)
{
    struct pair *pair = *state;

    pair_open(pair, 0, true);
    pair_open(pair, 1, true);
    pair_settle(pair);
    assert_true(pair_send(&pair->sides[0], 1));
    pair->states[0] = 0;
    pair_expect(&pair->sides[1], 1);
    pair_expect_nothing(&pair->sides[1]);
    assert_int_equal(pair->sides[1].state, CHANNEL_ENDED);
    /* It is not connected with the life that ended. */
    channel_accept(&pair->sides[1]);
    channel_update(&pair->sides[1]);
    assert_int_equal(pair->sides[1].state, CHANNEL_CONNECTING);
    pair->states[0] = 1;
    channel_update(&pair->sides[1]);
    assert_int_equal(pair->sides[1].state, CHANNEL_CONNECTING);
    pair_open(pair, 0, true);
    pair_settle(pair);
    assert_int_equal(pair->sides[1].state, CHANNEL_CONNECTED);
    assert_true(pair_send(&pair->sides[0], 2));
    pair_expect(&pair->sides[1], 2);
}

static void test_the_format_of_the_peer_is_checked(void **state)
{
    struct pair *pair = *state;

    pair_open(pair, 0, false);
    pair->sections[0]->control.format = CHANNEL_FORMAT_VALUE;
    pair_open(pair, 1, false);
    assert_int_equal(channel_update(&pair->sides[1]), CHANNEL_FAILED);
    assert_int_equal(pair->sides[1].error.kind, CHANNEL_ERROR_FORMAT);
    assert_int_equal(pair->sides[1].error.value, CHANNEL_FORMAT_VALUE);
    pair_open(pair, 0, false);
    pair->sections[0]->control.ring_bytes = 8192;
    channel_reset(&pair->sides[1]);
    assert_int_equal(channel_update(&pair->sides[1]), CHANNEL_FAILED);
    assert_int_equal(pair->sides[1].error.kind, CHANNEL_ERROR_RING_BYTES);
    pair_open(pair, 0, false);
    channel_reset(&pair->sides[1]);
    pair_settle(pair);
    assert_int_equal(pair->sides[1].state, CHANNEL_CONNECTED);
}

static void test_an_unaligned_start_is_refused(void **state)
{
    struct pair *pair = *state;

    pair_open(pair, 0, false);
    pair_open(pair, 1, false);
    channel_update(&pair->sides[0]);
    pair->sections[0]->control.start = 4;
    assert_int_equal(channel_update(&pair->sides[1]), CHANNEL_FAILED);
    assert_int_equal(pair->sides[1].error.kind, CHANNEL_ERROR_START);
}

/* After an error in either direction both are out of use until a reset. */
static void test_errors_end_the_use_of_both_directions(void **state)
{
    struct pair *pair = *state;

    pair_connect(pair);
    pair->sections[0]->control.produced = 4;
    pair_expect_nothing(&pair->sides[1]);
    assert_int_equal(pair->sides[1].state, CHANNEL_FAILED);
    assert_int_equal(pair->sides[1].error.kind, CHANNEL_ERROR_PRODUCED);
    assert_false(pair_send(&pair->sides[1], 1));
    pair_open(pair, 0, false);
    channel_reset(&pair->sides[1]);
    pair_settle(pair);
    pair->sections[0]->control.consumed = UINT64_MAX - 7;
    while (pair_send(&pair->sides[1], 1)) {
    }
    pair_expect_nothing(&pair->sides[1]);
    assert_int_equal(pair->sides[1].state, CHANNEL_FAILED);
    assert_int_equal(pair->sides[1].error.kind, CHANNEL_ERROR_CONSUMED);
}

/* Otherwise a program that resets a channel would fail at once, again and again, as long as the
 * peer's section stays as it is. */
static void test_a_life_that_violated_the_format_is_not_connected_with_again(void **state)
{
    struct pair *pair = *state;

    pair_open(pair, 0, false);
    pair->sections[0]->control.format = CHANNEL_FORMAT_VALUE;
    pair_open(pair, 1, false);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(channel_update(&pair->sides[1]), CHANNEL_FAILED);
        channel_reset(&pair->sides[1]);
        assert_int_equal(channel_update(&pair->sides[1]), CHANNEL_CONNECTING);
        pair_open(pair, 0, false);
        pair_settle(pair);
        assert_int_equal(pair->sides[1].state, CHANNEL_CONNECTED);
        assert_true(pair_send(&pair->sides[1], i));
        pair_expect(&pair->sides[0], i);
        pair->sections[0]->control.produced = 4;
        pair_expect_nothing(&pair->sides[1]);
    }
}

/* The next life of a side whose last one violated the format, and left any generation. */
static void expect_successor(struct pair *pair, uint64_t generation)
{
    struct section *section = pair->sections[0];

    section->control.generation = generation;
    section->control.format = CHANNEL_FORMAT_MESSAGES;
    section->control.produced = 0;
    pair_open(pair, 0, false);
    pair_settle(pair);
    assert_int_equal(pair->sides[0].state, CHANNEL_CONNECTED);
    assert_int_equal(pair->sides[1].state, CHANNEL_CONNECTED);
    assert_true(pair_send(&pair->sides[0], 1));
    pair_expect(&pair->sides[1], 1);
}

/* Also not if the malicious life goes back in its generations, so that the next one would have the
 * generation with which the other side does not connect. */
static void test_a_malicious_life_does_not_lock_out_the_next_one(void **state)
{
    struct pair *pair = *state;

    for (uint64_t back = 0; back < 4; back++) {
        uint64_t generation;

        pair_connect(pair);
        generation = pair->sides[0].generation;
        pair->sections[0]->control.produced += 4;
        pair_expect_nothing(&pair->sides[1]);
        assert_int_equal(pair->sides[1].state, CHANNEL_FAILED);
        channel_reset(&pair->sides[1]);
        assert_int_equal(channel_update(&pair->sides[1]), CHANNEL_CONNECTING);
        expect_successor(pair, generation - back);
    }
}

/* The violator of another format was never acknowledged. The next life begins before or after the
 * other side's reset. */
static void test_a_life_of_another_format_does_not_lock_out_the_next_one(void **state)
{
    struct pair *pair = *state;

    for (uint64_t i = 0; i < 8; i++) {
        uint64_t back = i / 2;
        uint64_t generation;

        pair_open(pair, 0, false);
        generation = pair->sides[0].generation;
        pair->sections[0]->control.format = CHANNEL_FORMAT_VALUE;
        pair_open(pair, 1, false);
        assert_int_equal(pair->sides[1].state, CHANNEL_FAILED);
        if (i % 2 == 0) {
            pair->sections[0]->control.generation = generation - back;
            pair_open(pair, 0, false);
        }
        channel_reset(&pair->sides[1]);
        if (i % 2 == 0) {
            pair_settle(pair);
            assert_int_equal(pair->sides[1].state, CHANNEL_CONNECTED);
        } else {
            assert_int_equal(channel_update(&pair->sides[1]), CHANNEL_CONNECTING);
            expect_successor(pair, generation - back);
        }
    }
}

/* A peer that reads the generation of a malicious life, and a word of it that violates the format,
 * refuses that generation, although an honest life may have it by then. */
static void refuse_generation_of(struct pair *pair, unsigned honest)
{
    struct channel_control *control = &pair->sections[honest]->control;

    control->format = CHANNEL_FORMAT_VALUE;
    assert_int_equal(channel_update(&pair->sides[1 - honest]), CHANNEL_FAILED);
    assert_int_equal(pair->sections[1 - honest]->control.refused, control->generation);
    control->format = CHANNEL_FORMAT_MESSAGES;
}

static void expect_traffic(struct pair *pair, uint64_t number)
{
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(pair->sides[i].state, CHANNEL_CONNECTED);
        assert_true(pair_send(&pair->sides[i], number));
        pair_expect(&pair->sides[1 - i], number);
    }
}

static void test_a_life_that_is_refused_begins_another(void **state)
{
    struct pair *pair = *state;

    for (unsigned i = 0; i < 2; i++) {
        uint64_t generation;

        pair_open(pair, 1 - i, false);
        pair->sections[1 - i]->control.generation = 0; /* it has not begun yet */
        pair_open(pair, i, false);
        pair->sections[1 - i]->control.generation = pair->sides[1 - i].generation;
        generation = pair->sides[i].generation;
        refuse_generation_of(pair, i);
        assert_int_equal(channel_update(&pair->sides[i]), CHANNEL_CONNECTING);
        channel_reset(&pair->sides[1 - i]);
        pair_settle(pair);
        assert_int_not_equal(pair->sides[i].generation, generation);
        expect_traffic(pair, i);
    }
}

/* It was connected, so its program has to accept the end of the peer's life. */
static void test_a_life_that_was_connected_and_is_refused_begins_another(void **state)
{
    struct pair *pair = *state;
    uint64_t generation;

    pair_connect(pair);
    generation = pair->sides[0].generation;
    pair->sections[0]->control.produced += 4;
    pair_expect_nothing(&pair->sides[1]);
    assert_int_equal(pair->sides[1].state, CHANNEL_FAILED);
    pair->sections[0]->control.produced -= 4;
    assert_int_equal(channel_update(&pair->sides[0]), CHANNEL_CONNECTED);
    channel_reset(&pair->sides[1]);
    pair_expect_nothing(&pair->sides[0]);
    assert_int_equal(pair->sides[0].state, CHANNEL_ENDED);
    assert_int_equal(pair->sides[0].generation, generation);
    channel_accept(&pair->sides[0]);
    assert_int_not_equal(pair->sides[0].generation, generation);
    pair_settle(pair);
    expect_traffic(pair, 1);
}

/* Each may refuse the other. */
static void test_two_lives_that_refuse_each_other_connect(void **state)
{
    struct pair *pair = *state;

    pair_connect(pair);
    for (unsigned i = 0; i < 2; i++) {
        pair->sections[1 - i]->control.produced += 4;
        pair_expect_nothing(&pair->sides[i]);
        pair->sections[1 - i]->control.produced -= 4;
    }
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(pair->sides[i].state, CHANNEL_FAILED);
        channel_reset(&pair->sides[i]);
    }
    pair_settle(pair);
    expect_traffic(pair, 1);
}

/* A malicious peer refuses each life: a call begins one life at most. */
static void test_a_peer_that_refuses_each_life_costs_one_life_a_call(void **state)
{
    struct pair *pair = *state;

    pair_open(pair, 0, false);
    pair_open(pair, 1, false);
    for (unsigned i = 0; i < 100; i++) {
        uint64_t generation = pair->sides[0].generation;

        pair->sections[1]->control.acknowledged = 0;
        pair->sections[1]->control.refused = generation;
        assert_int_equal(channel_update(&pair->sides[0]), CHANNEL_CONNECTING);
        assert_int_equal(pair->sides[0].generation, generation + 1);
    }
}

/* The new life is connected before it can send: its producer is still the last life's. */
static void test_an_error_of_the_last_life_is_forgotten(void **state)
{
    struct pair *pair = *state;

    pair_connect(pair);
    pair->sections[0]->control.consumed = UINT64_MAX - 7;
    while (pair_send(&pair->sides[1], 1)) {
    }
    assert_int_equal(channel_update(&pair->sides[1]), CHANNEL_FAILED);
    channel_reset(&pair->sides[1]);
    pair_open(pair, 0, false);
    assert_int_equal(channel_update(&pair->sides[1]), CHANNEL_CONNECTED);
    assert_int_equal(channel_update(&pair->sides[1]), CHANNEL_CONNECTED);
}

/* A malicious life leaves any positions in its section, from which those of the next lives go on,
 * also beyond the largest number. */
static void test_positions_of_a_malicious_life_do_no_harm(void **state)
{
    struct pair *pair = *state;
    const uint64_t left[] = {UINT64_MAX, UINT64_MAX - 7, UINT64_C(1) << 63, 3};

    for (unsigned i = 0; i < sizeof(left) / sizeof(left[0]); i++) {
        pair->sections[0]->control.produced = left[i];
        pair->sections[0]->control.consumed = left[i];
        pair_connect(pair);
        for (unsigned number = 0; number < 1000; number++) {
            assert_true(pair_send(&pair->sides[0], number));
            pair_expect(&pair->sides[1], number);
            assert_true(pair_send(&pair->sides[1], number));
            pair_expect(&pair->sides[0], number);
        }
    }
}

/* Each life ends with messages that its peer has still to receive, and the next one with the same
 * life of the peer. */
static void test_positions_wrap_from_life_to_life(void **state)
{
    struct pair *pair = *state;
    const uint64_t left[] = {UINT64_MAX / 2 + 1 - 16, UINT64_MAX - 15};

    for (unsigned i = 0; i < sizeof(left) / sizeof(left[0]); i++) {
        pair->sections[0]->control.produced = left[i];
        pair->sections[1]->control.produced = left[i];
        pair_connect(pair);
        for (unsigned life = 0; life < 4; life++) {
            for (unsigned number = 0; number < 3; number++) {
                assert_true(pair_send(&pair->sides[0], number));
                assert_true(pair_send(&pair->sides[1], number));
            }
            pair_open(pair, 0, false);
            for (unsigned number = 0; number < 3; number++) {
                pair_expect(&pair->sides[1], number);
            }
            pair_expect_nothing(&pair->sides[1]);
            assert_int_equal(pair->sides[1].state, CHANNEL_ENDED);
            channel_accept(&pair->sides[1]);
            pair_settle(pair);
            assert_int_equal(pair->sides[0].state, CHANNEL_CONNECTED);
            assert_int_equal(pair->sides[1].state, CHANNEL_CONNECTED);
        }
    }
}

/* A generation that the peer happens to have acknowledged would connect without it. */
static void test_a_new_generation_is_not_one_that_was_acknowledged(void **state)
{
    struct pair *pair = *state;

    pair->sections[1]->control.acknowledged = 1;
    pair_open(pair, 0, false);
    assert_int_equal(pair->sides[0].generation, 2);
    pair->sections[0]->control.generation = UINT64_MAX;
    pair_open(pair, 0, false);
    assert_int_equal(pair->sides[0].generation, 2);
}

static void test_the_peer_is_notified_of_lives_and_when_it_waits(void **state)
{
    struct pair *pair = *state;
    unsigned bells;

    pair_connect(pair);
    assert_true(pair->bells[0] > 0 && pair->bells[1] > 0);
    bells = pair->bells[1];
    assert_true(pair_send(&pair->sides[0], 1));
    assert_int_equal(pair->bells[1], bells);
    pair->sections[1]->control.waits = CHANNEL_WAITS_FOR_MESSAGE;
    assert_true(pair_send(&pair->sides[0], 2));
    assert_int_equal(pair->bells[1], bells + 1);
    assert_true(pair->sections[0]->control.notifications >= 1);
    channel_close(&pair->sides[0]);
    assert_int_equal(pair->bells[1], bells + 2);
}

/* Fills both rings. Side 0 says that it waits for space. Returns the notifications to it. */
static unsigned fill_both(struct pair *pair)
{
    pair_connect(pair);
    for (unsigned i = 0; i < 2; i++) {
        while (pair_send(&pair->sides[i], 0)) {
        }
    }
    pair->sections[0]->control.waits = CHANNEL_WAITS_FOR_SPACE;
    return pair->bells[0];
}

/* Otherwise two sides whose rings are full could wait for each other, although each has space for
 * the other's next message. */
static void test_a_side_without_space_tells_what_it_released(void **state)
{
    struct pair *pair = *state;
    unsigned bells = fill_both(pair);

    pair_expect(&pair->sides[1], 0);
    assert_int_equal(pair->bells[0], bells);
    for (unsigned i = 0; i < 3; i++) {
        assert_false(pair_send(&pair->sides[1], 0));
        assert_int_equal(pair->bells[0], bells + 1);
    }
    assert_true(pair_send(&pair->sides[0], 0));
}

/* For a program that goes on to wait for something else. */
static void test_an_update_tells_what_was_released(void **state)
{
    struct pair *pair = *state;
    unsigned bells = fill_both(pair);

    pair_expect(&pair->sides[1], 0);
    assert_int_equal(pair->bells[0], bells);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(channel_update(&pair->sides[1]), CHANNEL_CONNECTED);
        assert_int_equal(pair->bells[0], bells + 1);
    }
}

static enum channel_state observed[8];
static unsigned observations;

static void observe(void *context, const struct channel *channel)
{
    (void)context;
    assert_in_range(observations, 0, 7);
    observed[observations++] = channel->state;
}

static void assert_observed(const enum channel_state *states, unsigned count)
{
    assert_int_equal(observations, count);
    assert_memory_equal(observed, states, count * sizeof(*states));
    observations = 0;
}

static void test_each_state_is_observed(void **state)
{
    static const enum channel_state begun[] = {CHANNEL_CONNECTING, CHANNEL_CONNECTED},
                                    over[] = {CHANNEL_ENDING, CHANNEL_ENDED, CHANNEL_CONNECTING,
                                              CHANNEL_CONNECTED},
                                    failed[] = {CHANNEL_FAILED, CHANNEL_CONNECTING},
                                    closed[] = {CHANNEL_CONNECTING, CHANNEL_ENDED};
    struct pair *pair = *state;
    struct channel *observer = &pair->sides[1];
    const struct channel_memory memory = {pair->sections[1], pair->sections[0], PAIR_RING_BYTES,
                                          NULL};

    observations = 0;
    pair_open(pair, 0, false);
    assert_true(channel_open(observer, &memory, &(struct channel_port){.observe = observe}));
    pair_settle(pair);
    assert_observed(begun, 2);
    pair_open(pair, 0, false);
    pair_expect_nothing(observer);
    channel_accept(observer);
    pair_settle(pair);
    assert_observed(over, 4);
    pair->sections[0]->control.produced = 4;
    pair_expect_nothing(observer);
    channel_reset(observer);
    assert_observed(failed, 2);
    channel_close(observer);
    assert_observed(closed, 2);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_both_sides_connect_in_either_order),
        TEST(test_sizes_of_rings_are_checked),
        TEST(test_nothing_is_sent_before_the_peer_is_connected),
        TEST(test_messages_of_a_life_that_ended_are_received),
        TEST(test_an_unfinished_message_is_not_received),
        TEST(test_a_new_life_receives_nothing_of_the_last),
        TEST(test_a_full_ring_is_free_after_a_new_connection),
        TEST(test_both_sides_end_at_once),
        TEST(test_reset_begins_a_new_life),
        TEST(test_accept_drops_what_was_not_received),
        TEST(test_close_is_an_end_without_another_life),
        TEST(test_the_state_table_tells_the_end),
        TEST(test_the_format_of_the_peer_is_checked),
        TEST(test_an_unaligned_start_is_refused),
        TEST(test_errors_end_the_use_of_both_directions),
        TEST(test_a_life_that_violated_the_format_is_not_connected_with_again),
        TEST(test_an_error_of_the_last_life_is_forgotten),
        TEST(test_a_malicious_life_does_not_lock_out_the_next_one),
        TEST(test_a_life_of_another_format_does_not_lock_out_the_next_one),
        TEST(test_a_life_that_is_refused_begins_another),
        TEST(test_a_life_that_was_connected_and_is_refused_begins_another),
        TEST(test_two_lives_that_refuse_each_other_connect),
        TEST(test_a_peer_that_refuses_each_life_costs_one_life_a_call),
        TEST(test_positions_of_a_malicious_life_do_no_harm),
        TEST(test_positions_wrap_from_life_to_life),
        TEST(test_a_new_generation_is_not_one_that_was_acknowledged),
        TEST(test_the_peer_is_notified_of_lives_and_when_it_waits),
        TEST(test_a_side_without_space_tells_what_it_released),
        TEST(test_an_update_tells_what_was_released),
        TEST(test_each_state_is_observed),
    };

    return cmocka_run_group_tests_name("connection", tests, NULL, NULL);
}
