/* SPDX-License-Identifier: BSD-2-Clause */
/* Waiting for messages, space, values and lives, for several channels at once, with a deadline. The
 * clock and the peer are functions that sleep() calls. */
#include "channel/wait.h"
#include "pair.h"
#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

struct fixture {
    struct pair pair;
    struct pair other;
    uint64_t now;
    unsigned prepared;
    unsigned rests;
    unsigned message_at; /* ring() sends one in this sleep; 0: in none */
    /* What happens while the thread sleeps. Returns false if nothing wakes it. */
    bool (*meanwhile)(struct fixture *fixture);
    unsigned bells; /* of side 1 when the sleep began */
    unsigned pauses;
    const uint64_t *watched; /* at the last pause */
};

static void prepare(void *context)
{
    ((struct fixture *)context)->prepared++;
}

static bool sleep_until(void *context, uint64_t deadline)
{
    struct fixture *fixture = context;

    fixture->bells = fixture->pair.bells[1] + fixture->other.bells[1];
    if (fixture->meanwhile == NULL || !fixture->meanwhile(fixture)) {
        assert_true(deadline != CHANNEL_FOREVER);
        fixture->now = deadline;
        return false;
    }
    fixture->now++;
    return fixture->now < deadline;
}

static bool rest(void *context, uint64_t deadline)
{
    struct fixture *fixture = context;

    /* The peer rings no doorbell meanwhile. */
    assert_int_equal(fixture->pair.sections[1]->control.waits, 0);
    fixture->rests++;
    fixture->now += 100;
    return fixture->now < deadline;
}

static struct channel_sleeper sleeper_of(struct fixture *fixture)
{
    return (struct channel_sleeper){.context = fixture, .prepare = prepare, .sleep = sleep_until};
}

static int set_up(void **state)
{
    static struct fixture fixture;

    fixture = (struct fixture){0};
    pair_create(&fixture.pair);
    pair_create(&fixture.other);
    pair_connect(&fixture.pair);
    pair_connect(&fixture.other);
    *state = &fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;

    pair_destroy(&fixture->pair);
    pair_destroy(&fixture->other);
    return 0;
}

static size_t wait_for_message(struct fixture *fixture, uint64_t deadline)
{
    struct channel_wait wait = channel_wait_for_message(&fixture->pair.sides[1]);
    struct channel_sleeper sleeper = sleeper_of(fixture);

    return channel_wait_any(&wait, 1, &sleeper, deadline);
}

static void test_nothing_waits_for_a_message_that_is_there(void **state)
{
    struct fixture *fixture = *state;

    assert_true(pair_send(&fixture->pair.sides[0], 1));
    assert_int_equal(wait_for_message(fixture, 0), 0);
    assert_int_equal(fixture->prepared, 0);
    pair_expect(&fixture->pair.sides[1], 1);
}

static bool send_one(struct fixture *fixture)
{
    assert_int_equal(fixture->pair.sections[1]->control.waits, CHANNEL_WAITS_FOR_MESSAGE);
    assert_true(pair_send(&fixture->pair.sides[0], 7));
    assert_int_equal(fixture->pair.bells[1] + fixture->other.bells[1], fixture->bells + 1);
    return true;
}

static void test_a_message_wakes(void **state)
{
    struct fixture *fixture = *state;

    fixture->meanwhile = send_one;
    assert_int_equal(wait_for_message(fixture, CHANNEL_FOREVER), 0);
    assert_int_equal(fixture->pair.sections[1]->control.waits, 0);
    assert_int_equal(fixture->pair.sections[1]->control.sleeps, 1);
    pair_expect(&fixture->pair.sides[1], 7);
}

static void test_a_deadline_passes(void **state)
{
    struct fixture *fixture = *state;

    assert_int_equal(wait_for_message(fixture, 1000), 1);
    assert_int_equal(fixture->now, 1000);
    assert_int_equal(fixture->pair.sections[1]->control.waits, 0);
}

/* A watcher whose clock goes on by one at each pause. */
static void pause_once(void *context, const uint64_t *word, uint64_t value)
{
    struct fixture *fixture = context;

    fixture->pauses++;
    fixture->now++;
    fixture->watched = word;
    /* The peer has not stored the word since the last look. */
    assert_true(word == NULL || *word == value);
    if (fixture->meanwhile != NULL) {
        (void)fixture->meanwhile(fixture);
    }
}

static bool has_passed(void *context, uint64_t deadline)
{
    return ((struct fixture *)context)->now >= deadline;
}

static struct channel_watcher watcher_of(struct fixture *fixture)
{
    return (struct channel_watcher){fixture, pause_once, has_passed};
}

static bool send_at_the_third_pause(struct fixture *fixture)
{
    assert_int_equal(fixture->pair.sections[1]->control.waits, 0);
    if (fixture->pauses == 3) {
        fixture->bells = fixture->pair.bells[1];
        assert_true(pair_send(&fixture->pair.sides[0], 7));
        assert_int_equal(fixture->pair.bells[1], fixture->bells);
    }
    return true;
}

static void test_a_watched_channel_rings_no_bell(void **state)
{
    struct fixture *fixture = *state;
    struct channel_wait wait = channel_wait_for_message(&fixture->pair.sides[1]);
    struct channel_watcher watcher = watcher_of(fixture);

    fixture->meanwhile = send_at_the_third_pause;
    assert_int_equal(channel_watch_any(&wait, 1, &watcher, CHANNEL_FOREVER), 0);
    assert_int_equal(fixture->pauses, 3);
    assert_ptr_equal(fixture->watched, &fixture->pair.sections[0]->control.produced);
    assert_int_equal(fixture->pair.sections[1]->control.sleeps, 0);
    pair_expect(&fixture->pair.sides[1], 7);
}

static void test_a_watch_ends_at_its_deadline(void **state)
{
    struct fixture *fixture = *state;
    struct channel_wait waits[2] = {channel_wait_for_message(&fixture->pair.sides[1]),
                                    channel_wait_for_message(&fixture->other.sides[1])};
    struct channel_watcher watcher = watcher_of(fixture);

    assert_int_equal(channel_watch_any(waits, 2, &watcher, 5), 2);
    assert_int_equal(fixture->pauses, 5);
    assert_null(fixture->watched); /* several words can't be watched */
}

static bool wake_for_nothing(struct fixture *fixture)
{
    (void)fixture;
    return true;
}

static void test_a_bell_for_nothing_does_not_end_the_wait(void **state)
{
    struct fixture *fixture = *state;

    fixture->meanwhile = wake_for_nothing;
    assert_int_equal(wait_for_message(fixture, 50), 1);
    assert_int_equal(fixture->now, 50);
    assert_int_equal(fixture->prepared, 50);
}

static bool end_life(struct fixture *fixture)
{
    pair_open(&fixture->pair, 0, false);
    assert_true(fixture->pair.bells[1] + fixture->other.bells[1] > fixture->bells);
    return true;
}

static void test_the_end_of_the_peer_wakes(void **state)
{
    struct fixture *fixture = *state;

    fixture->meanwhile = end_life;
    assert_int_equal(wait_for_message(fixture, CHANNEL_FOREVER), 0);
    pair_expect_nothing(&fixture->pair.sides[1]);
    assert_int_equal(fixture->pair.sides[1].state, CHANNEL_ENDED);
}

static bool receive_all(struct fixture *fixture)
{
    uint64_t length;
    uint32_t tag;

    while (channel_receive_begin(&fixture->pair.sides[0], &length, &tag) != NULL) {
        channel_receive_end(&fixture->pair.sides[0]);
    }
    assert_true(fixture->pair.bells[1] + fixture->other.bells[1] > fixture->bells);
    return true;
}

static void test_space_wakes(void **state)
{
    struct fixture *fixture = *state;
    struct channel *channel = &fixture->pair.sides[1];
    const uint64_t length = channel_content_max(PAIR_RING_BYTES);
    struct channel_sleeper sleeper = sleeper_of(fixture);
    struct channel_wait wait;

    while (pair_send(channel, 1)) {
    }
    wait = channel_wait_for_space(channel, length);
    fixture->meanwhile = receive_all;
    assert_int_equal(channel_wait_any(&wait, 1, &sleeper, CHANNEL_FOREVER), 0);
    assert_non_null(channel_send_begin(channel, length));
}

/* The peer answers one message, for which it waits for space in turn: the message is less than a
 * quarter of the ring. */
static bool answer_one(struct fixture *fixture)
{
    struct channel *channel = &fixture->pair.sides[0];
    struct fixture peer = {.pair = fixture->pair};
    struct channel_sleeper sleeper = sleeper_of(&peer);
    struct channel_wait wait = channel_wait_for_space(channel, 8);

    pair_expect(channel, 1);
    assert_int_equal(channel_wait_any(&wait, 1, &sleeper, 1), 1);
    assert_true(fixture->pair.bells[1] + fixture->other.bells[1] > fixture->bells);
    return true;
}

static void test_two_sides_do_not_wait_for_each_others_space(void **state)
{
    struct fixture *fixture = *state;
    struct channel_sleeper sleeper = sleeper_of(fixture);
    struct channel_wait wait;

    for (unsigned i = 0; i < 2; i++) {
        while (pair_send(&fixture->pair.sides[i], 1)) {
        }
    }
    wait = channel_wait_for_space(&fixture->pair.sides[1], 8);
    fixture->meanwhile = answer_one;
    assert_int_equal(channel_wait_any(&wait, 1, &sleeper, CHANNEL_FOREVER), 0);
}

/* A malicious peer rings for no reason, until it sends a message. */
static bool ring(struct fixture *fixture)
{
    if (fixture->prepared == fixture->message_at) {
        assert_true(pair_send(&fixture->pair.sides[0], 7));
    }
    return true;
}

/* Returns the rests in a wait of which doorbells end each sleep, the last one by a message. */
static unsigned rests_until(struct fixture *fixture, unsigned message_at)
{
    struct channel_wait wait = channel_wait_for_message(&fixture->pair.sides[1]);
    struct channel_sleeper sleeper = sleeper_of(fixture);

    sleeper.rest = rest;
    fixture->meanwhile = ring;
    fixture->prepared = 0;
    fixture->rests = 0;
    fixture->message_at = message_at;
    assert_int_equal(channel_wait_any(&wait, 1, &sleeper, CHANNEL_FOREVER), 0);
    pair_expect(&fixture->pair.sides[1], 7);
    return fixture->rests;
}

static void test_doorbells_without_a_reason_make_the_sleeper_rest(void **state)
{
    assert_in_range(rests_until(*state, 1000), 950, 999);
    /* A few of them cost no time. */
    assert_int_equal(rests_until(*state, 11), 0);
}

/* Also not a sleeper that has slept often in this wait, for example to look at something else. */
static void test_a_message_lets_nobody_rest(void **state)
{
    assert_int_equal(rests_until(*state, 20), 3);
}

static void test_a_deadline_ends_rests(void **state)
{
    struct fixture *fixture = *state;
    struct channel_wait wait = channel_wait_for_message(&fixture->pair.sides[1]);
    struct channel_sleeper sleeper = sleeper_of(fixture);

    sleeper.rest = rest;
    fixture->meanwhile = ring;
    assert_int_equal(channel_wait_any(&wait, 1, &sleeper, 1000), 1);
    assert_in_range(fixture->now, 1000, 1100);
}

static bool send_on_other(struct fixture *fixture)
{
    assert_true(pair_send(&fixture->other.sides[0], 9));
    assert_int_equal(fixture->pair.bells[1] + fixture->other.bells[1], fixture->bells + 1);
    return true;
}

static void test_the_first_of_several_that_is_ready_is_named(void **state)
{
    struct fixture *fixture = *state;
    struct channel_sleeper sleeper = sleeper_of(fixture);
    struct channel_wait waits[3];

    while (pair_send(&fixture->pair.sides[1], 1)) {
    }
    waits[0] = channel_wait_for_message(&fixture->pair.sides[1]);
    waits[1] = channel_wait_for_space(&fixture->pair.sides[1], 8);
    waits[2] = channel_wait_for_message(&fixture->other.sides[1]);
    fixture->meanwhile = send_on_other;
    assert_int_equal(channel_wait_any(waits, 3, &sleeper, CHANNEL_FOREVER), 2);
    pair_expect(&fixture->other.sides[1], 9);
    fixture->meanwhile = NULL;
    assert_int_equal(channel_wait_any(waits, 3, &sleeper, 100), 3);
    fixture->meanwhile = receive_all;
    assert_int_equal(channel_wait_any(waits, 3, &sleeper, CHANNEL_FOREVER), 1);
}

static void test_both_waits_for_one_channel_set_their_flags(void **state)
{
    struct fixture *fixture = *state;
    struct channel_sleeper sleeper = sleeper_of(fixture);
    struct channel_wait waits[2];

    while (pair_send(&fixture->pair.sides[1], 1)) {
    }
    waits[0] = channel_wait_for_space(&fixture->pair.sides[1], 8);
    waits[1] = channel_wait_for_message(&fixture->pair.sides[1]);
    fixture->meanwhile = receive_all;
    assert_int_equal(channel_wait_any(waits, 2, &sleeper, CHANNEL_FOREVER), 0);
}

/* An event loop sleeps for a message while a call waits for space. */
static void test_a_wait_leaves_what_is_armed(void **state)
{
    struct fixture *fixture = *state;
    struct channel_control *own = &fixture->pair.sections[1]->control;
    struct channel_sleeper sleeper = sleeper_of(fixture);
    struct channel_wait wait;

    while (pair_send(&fixture->pair.sides[1], 1)) {
    }
    own->armed = CHANNEL_WAITS_FOR_MESSAGE;
    own->waits = CHANNEL_WAITS_FOR_MESSAGE;
    wait = channel_wait_for_space(&fixture->pair.sides[1], 8);
    assert_int_equal(channel_wait_any(&wait, 1, &sleeper, 10), 1);
    assert_int_equal(own->waits, CHANNEL_WAITS_FOR_MESSAGE);
    channel_reset(&fixture->pair.sides[1]);
    assert_int_equal(own->waits, CHANNEL_WAITS_FOR_MESSAGE);
    /* Of a life that ended nothing is left. */
    pair_open(&fixture->pair, 1, false);
    assert_int_equal(own->waits, 0);
}

static struct value_writer writer;

static bool write_value(struct fixture *fixture)
{
    (void)fixture;
    *value_write_begin(&writer) = 42;
    assert_true(value_write_end(&writer, 1));
    return true;
}

static void test_a_value_wakes(void **state)
{
    struct fixture *fixture = *state;
    struct channel_sleeper sleeper = sleeper_of(fixture);
    struct pair pair;
    struct value_reader reader;
    struct channel_wait wait;

    pair_create(&pair);
    assert_true(
        value_writer_begin(&writer, pair.sections[0], &pair.sections[1]->control, PAIR_RING_BYTES));
    assert_true(
        value_reader_begin(&reader, pair.sections[0], &pair.sections[1]->control, PAIR_RING_BYTES));
    wait = channel_wait_for_value(&reader);
    assert_int_equal(channel_wait_any(&wait, 1, &sleeper, 10), 1);
    fixture->meanwhile = write_value;
    assert_int_equal(channel_wait_any(&wait, 1, &sleeper, CHANNEL_FOREVER), 0);
    assert_int_equal(*value_read(&reader, &(uint64_t){0}), 42);
    pair_destroy(&pair);
}

static struct broadcast_sender sender;

static bool send_broadcast(struct fixture *fixture)
{
    (void)fixture;
    *broadcast_send_begin(&sender, 1) = 42;
    broadcast_send_end(&sender, 1, 7);
    return true;
}

static void test_a_broadcast_ends_the_wait(void **state)
{
    struct fixture *fixture = *state;
    struct channel_sleeper sleeper = sleeper_of(fixture);
    struct pair pair;
    struct broadcast_receiver receiver;
    struct channel_wait wait;
    uint64_t content;
    uint64_t length;
    uint32_t tag;

    pair_create(&pair);
    assert_true(broadcast_sender_begin(&sender, pair.sections[0], PAIR_RING_BYTES));
    (void)send_broadcast(fixture); /* before the receiver begins */
    assert_true(broadcast_receiver_begin(&receiver, pair.sections[0], PAIR_RING_BYTES, false));
    wait = channel_wait_for_broadcast(&receiver);
    assert_int_equal(channel_wait_any(&wait, 1, &sleeper, 10), 1);
    fixture->meanwhile = send_broadcast;
    assert_int_equal(channel_wait_any(&wait, 1, &sleeper, CHANNEL_FOREVER), 0);
    assert_int_equal(broadcast_receive(&receiver, &content, sizeof(content), &length, &tag),
                     BROADCAST_RECEIVED);
    assert_int_equal(content & 0xff, 42);
    fixture->meanwhile = NULL;
    assert_int_equal(channel_wait_any(&wait, 1, &sleeper, 20), 1);
    pair_destroy(&pair);
}

/* Fails the test if a wait of this kind would sleep, or watch. */
static void expect_no_wait(struct fixture *fixture, struct channel_wait wait)
{
    struct channel_sleeper sleeper = sleeper_of(fixture);
    struct channel_watcher watcher = watcher_of(fixture);

    fixture->meanwhile = NULL;
    fixture->prepared = 0;
    fixture->pauses = 0;
    assert_int_equal(channel_wait_any(&wait, 1, &sleeper, 1000), 0);
    assert_int_equal(channel_watch_any(&wait, 1, &watcher, 1000), 0);
    assert_int_equal(fixture->prepared + fixture->pauses, 0);
}

/* Nothing comes before the program has called channel_accept() or channel_reset(). */
static void test_nobody_waits_after_the_end(void **state)
{
    struct fixture *fixture = *state;
    struct channel *channel = &fixture->pair.sides[1];

    channel_close(&fixture->pair.sides[0]);
    assert_int_equal(channel_update(channel), CHANNEL_ENDING);
    expect_no_wait(fixture, channel_wait_for_space(channel, 8));
    assert_int_equal(channel->state, CHANNEL_ENDING);
    pair_expect_nothing(channel);
    assert_int_equal(channel->state, CHANNEL_ENDED);
    expect_no_wait(fixture, channel_wait_for_message(channel));
    expect_no_wait(fixture, channel_wait_for_space(channel, 8));
    channel_accept(channel);
    assert_int_equal(wait_for_message(fixture, fixture->now + 10), 1);
}

static void test_nobody_waits_after_a_violation(void **state)
{
    struct fixture *fixture = *state;
    struct channel *channel = &fixture->pair.sides[1];

    fixture->pair.sections[0]->control.produced = 4;
    pair_expect_nothing(channel);
    assert_int_equal(channel->state, CHANNEL_FAILED);
    expect_no_wait(fixture, channel_wait_for_message(channel));
    expect_no_wait(fixture, channel_wait_for_space(channel, 8));
    channel_reset(channel);
    assert_int_equal(wait_for_message(fixture, fixture->now + 10), 1);
}

static void test_nobody_waits_for_values_and_broadcasts_after_a_violation(void **state)
{
    struct fixture *fixture = *state;
    struct pair pair;
    struct value_reader reader;
    struct broadcast_receiver receiver;
    uint64_t content;
    uint64_t length;
    uint32_t tag;

    pair_create(&pair);
    pair.sections[0]->control.format = CHANNEL_FORMAT_MESSAGES;
    pair.sections[0]->control.produced = 8;
    assert_true(
        value_reader_begin(&reader, pair.sections[0], &pair.sections[1]->control, PAIR_RING_BYTES));
    assert_null(value_read(&reader, &length));
    assert_int_equal(reader.error.kind, CHANNEL_ERROR_FORMAT);
    expect_no_wait(fixture, channel_wait_for_value(&reader));
    assert_true(broadcast_receiver_begin(&receiver, pair.sections[0], PAIR_RING_BYTES, false));
    assert_int_equal(broadcast_receive(&receiver, &content, sizeof(content), &length, &tag),
                     BROADCAST_FAILED);
    expect_no_wait(fixture, channel_wait_for_broadcast(&receiver));
    pair_destroy(&pair);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(test_nothing_waits_for_a_message_that_is_there),
        TEST(test_a_message_wakes),
        TEST(test_a_deadline_passes),
        TEST(test_a_watched_channel_rings_no_bell),
        TEST(test_a_watch_ends_at_its_deadline),
        TEST(test_a_bell_for_nothing_does_not_end_the_wait),
        TEST(test_the_end_of_the_peer_wakes),
        TEST(test_space_wakes),
        TEST(test_two_sides_do_not_wait_for_each_others_space),
        TEST(test_doorbells_without_a_reason_make_the_sleeper_rest),
        TEST(test_a_message_lets_nobody_rest),
        TEST(test_a_deadline_ends_rests),
        TEST(test_the_first_of_several_that_is_ready_is_named),
        TEST(test_both_waits_for_one_channel_set_their_flags),
        TEST(test_a_wait_leaves_what_is_armed),
        TEST(test_a_value_wakes),
        TEST(test_a_broadcast_ends_the_wait),
        TEST(test_nobody_waits_after_the_end),
        TEST(test_nobody_waits_after_a_violation),
        TEST(test_nobody_waits_for_values_and_broadcasts_after_a_violation),
    };

    return cmocka_run_group_tests_name("wait", tests, NULL, NULL);
}
