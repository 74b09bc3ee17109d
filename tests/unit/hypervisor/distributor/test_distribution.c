/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests the distribution of interrupts: a partition with three VCPUs, whose windows end in turn.
 * Its VCPU 0 is home.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "distributor/distribution.h"

#define HOME   0u
#define TAKER  1u
#define OTHER  2u
#define VCPUS  3u
#define FIRST  40u /* INTIDs */
#define SECOND 41u
#define PART   100u  /* ticks */
#define START  1000u /* windows */

static struct distribution distribution;
static struct profile profiles[VCPUS];
static struct distribution_source *const first = &distribution.sources[0];
static struct distribution_source *const second = &distribution.sources[1];
static struct distribution_log decisions;
static uint32_t now; /* in windows */

static int setup(void **state)
{
    (void)state;
    now = START;
    decisions = (struct distribution_log){0};
    distribution = (struct distribution){.sources = {{.number = FIRST}, {.number = SECOND}}};
    for (unsigned vcpu = 0; vcpu < VCPUS; vcpu++) {
        profiles[vcpu] = (struct profile){0};
    }
    return 0;
}

/* Lets an interrupt come in so many parts of a VCPU's window, so many times each. */
static void come(unsigned vcpu, uint32_t number, unsigned parts, unsigned times)
{
    for (unsigned part = 0; part < PROFILE_PARTS; part++) {
        for (unsigned i = 0; part < parts && i < times; i++) {
            profile_count(&profiles[vcpu], number);
        }
        distribution_close_part(&distribution, &profiles[vcpu], 1);
    }
}

/* A window in which all is well. */
static struct distribution_window usual(unsigned vcpu)
{
    return (struct distribution_window){.now = (uint64_t)now * PROFILE_PARTS * PART,
                                        .part = PART,
                                        .parts = PROFILE_PARTS,
                                        .time = now,
                                        .used = 10,
                                        .idle = 90,
                                        .vcpu = vcpu,
                                        .neighbours = UINT32_C(1) << vcpu,
                                        .may_offer = true,
                                        .is_open = true,
                                        .has_budget = true};
}

static struct distribution_window close(struct distribution_window window)
{
    distribution_close_window(&distribution, &profiles[window.vcpu], &window, &decisions);
    return window;
}

static struct distribution_window close_home(bool is_contended)
{
    struct distribution_window window = usual(HOME);

    window.is_contended = is_contended;
    return close(window);
}

/* Returns true if an interrupt that comes in so many parts is judged to be periodic. */
static bool is_periodic_after(unsigned parts)
{
    come(HOME, FIRST, parts, 3);
    return close_home(false).is_contended;
}

static void test_periodic_and_sporadic(void **state)
{
    (void)state;
    assert_false(is_periodic_after(0));
    assert_false(is_periodic_after(7));
    assert_true(is_periodic_after(8));
    assert_int_equal(first->rate, 24);
    assert_true(is_periodic_after(5));
    assert_int_equal(first->rate, 15);
    assert_false(is_periodic_after(4));
    assert_false(is_periodic_after(7));
}

/* On a busy core. */
static bool is_periodic_after_busy(unsigned parts)
{
    struct distribution_window window = usual(HOME);

    window.urgent = 40;
    window.used = 21;
    come(HOME, FIRST, parts, 1);
    return close(window).is_contended;
}

static void test_sources_of_a_busy_core(void **state)
{
    (void)state;
    assert_false(is_periodic_after_busy(0)); /* it does not come */
    assert_true(is_periodic_after_busy(1));
    assert_true(is_periodic_after_busy(1));
    assert_false(is_periodic_after_busy(0)); /* the guest may take no interrupts */
    assert_true(is_periodic_after_busy(1));
    assert_false(is_periodic_after(4));
}

/* Closes a window of several times the usual length, in which the hypervisor has executed once. */
static bool is_periodic_in_late_window(unsigned parts, unsigned times)
{
    struct distribution_window window = usual(HOME);

    for (unsigned i = 0; i < times; i++) {
        profile_count(&profiles[HOME], FIRST);
    }
    distribution_close_part(&distribution, &profiles[HOME], parts);
    window.parts = parts;
    return close(window).is_contended;
}

static void test_late_windows(void **state)
{
    (void)state;
    assert_false(is_periodic_in_late_window(20, 15));
    assert_true(is_periodic_in_late_window(20, 16));
    assert_int_equal(first->rate, 8);
    assert_false(is_periodic_in_late_window(1000000000, 255));
    assert_true(is_periodic_in_late_window(10, 10000)); /* counted as 255 */
    assert_int_equal(first->rate, 255);
}

static void test_others_numbers_are_not_counted(void **state)
{
    (void)state;
    come(HOME, FIRST + 2, PROFILE_PARTS, 3);
    come(HOME, 27, PROFILE_PARTS, 3);
    assert_false(close_home(false).is_contended);
    assert_int_equal(first->rate + second->rate, 0);
}

/* The source is periodic at home, and collides there. Returns true if it is offered. */
static bool offer(void)
{
    come(HOME, FIRST, PROFILE_PARTS, 2);
    return close_home(true).has_offered;
}

static void test_only_collisions_are_offered(void **state)
{
    struct distribution_window window = usual(HOME);

    (void)state;
    come(HOME, FIRST, 7, 2);
    assert_false(close_home(true).has_offered); /* sporadic */
    come(HOME, FIRST, PROFILE_PARTS, 2);
    assert_false(close_home(false).has_offered); /* alone */
    window.is_contended = true;
    window.may_offer = false;
    come(HOME, FIRST, PROFILE_PARTS, 2);
    assert_false(close(window).has_offered); /* not distributed */
    assert_int_equal(close(usual(TAKER)).routed, 0);
    assert_true(offer());
    assert_int_equal(first->target, HOME);
}

static void test_a_vcpu_collides_with_more_urgent_ones_alone(void **state)
{
    struct distribution_window window;

    (void)state;
    come(HOME, FIRST, PROFILE_PARTS, 2);
    window = close_home(false); /* the first VCPU of its core */
    assert_false(window.has_offered);
    assert_true(window.is_contended); /* for the next one */
}

static void test_take(void **state)
{
    struct distribution_window window = usual(TAKER);

    (void)state;
    assert_int_equal(close(usual(TAKER)).routed, 0); /* nothing is offered */
    assert_true(offer());
    window.idle = 39;
    assert_int_equal(close(window).routed, 0);
    window.idle = 40;
    window.has_budget = false;
    assert_int_equal(close(window).routed, 0);
    window.has_budget = true;
    window.is_open = false;
    assert_int_equal(close(window).routed, 0);
    window.is_open = true;
    assert_int_equal(close(window).routed, 1);
    assert_int_equal(first->target, TAKER);
    assert_int_equal(first->home, HOME);
    assert_int_equal(first->moves, 1);
    assert_int_equal(close(usual(OTHER)).routed, 0); /* it is taken */
}

/* A collision that is not seen in a single window is no reason to take a source. */
static void test_a_core_with_collisions_has_no_room_for_some_time(void **state)
{
    struct distribution_window window = usual(TAKER);

    (void)state;
    window.is_contended = true;
    assert_int_equal(close(window).routed, 0);
    now += DISTRIBUTION_PATIENCE;
    assert_true(offer());
    assert_int_equal(close(usual(TAKER)).routed, 0);
    now += 1;
    assert_int_equal(close(usual(TAKER)).routed, 1);
}

static void test_offers_expire(void **state)
{
    (void)state;
    assert_true(offer());
    now += DISTRIBUTION_LEASE + 1;
    assert_int_equal(close(usual(TAKER)).routed, 0);
    assert_true(offer());
    now += DISTRIBUTION_LEASE;
    assert_int_equal(close(usual(TAKER)).routed, 1);
}

/* Returns true if a source is offered in a window in which it does not come. `urgent`: percent of
 * the window that more urgent VCPUs have used. */
static bool offers_silent(uint8_t urgent)
{
    struct distribution_window window = usual(HOME);

    window.is_contended = true;
    window.urgent = urgent;
    window.used = 0;
    return close(window).has_offered;
}

static void test_a_source_that_is_starved_at_home_stays_wanted(void **state)
{
    (void)state;
    assert_false(offers_silent(90)); /* it has never come */
    assert_true(offer());
    assert_false(offers_silent(60)); /* its core had time for it */
    assert_true(offers_silent(61));
    now += DISTRIBUTION_WANTED;
    assert_true(offers_silent(90));
    now += 1;
    assert_false(offers_silent(90));
}

static void test_one_source_a_window_the_most_frequent_first(void **state)
{
    static const uint32_t often[] = {FIRST, SECOND};

    for (unsigned i = 0; i < 2; i++) {
        (void)setup(state);
        for (unsigned part = 0; part < PROFILE_PARTS; part++) {
            profile_count(&profiles[HOME], FIRST);
            profile_count(&profiles[HOME], SECOND);
            profile_count(&profiles[HOME], often[i]);
            distribution_close_part(&distribution, &profiles[HOME], 1);
        }
        assert_true(close_home(true).has_offered);
        assert_int_equal(close(usual(TAKER)).routed, 1u << i);
        assert_int_equal(close(usual(TAKER)).routed, 2u >> i);
    }
}

static void test_home_does_not_take_its_own_offer(void **state)
{
    struct distribution_window window = usual(HOME);

    (void)state;
    assert_true(offer());
    assert_int_equal(close(window).routed, 0);
}

static void test_a_vcpu_of_homes_core_does_not_take(void **state)
{
    struct distribution_window window = usual(TAKER);

    (void)state;
    assert_true(offer());
    window.neighbours |= 1u << HOME;
    assert_int_equal(close(window).routed, 0);
    window.neighbours = 1u << TAKER | 1u << OTHER;
    assert_int_equal(close(window).routed, 1);
}

/* The source is moved, at `now`. */
static void move(void)
{
    assert_true(offer());
    assert_int_equal(close(usual(TAKER)).routed, 1);
}

/* The source does not collide at home in a window that is idle for so many percent. Returns true
 * if it goes home. */
static bool goes_home(uint8_t idle)
{
    struct distribution_window window = usual(HOME);

    window.idle = idle;
    window.used = 0;
    return close(window).routed != 0;
}

/* The source comes at its taker, in so many parts of a window. The VCPU uses so many percent of the
 * core. Returns true if the source goes home. */
static bool leaves_taker(unsigned parts, uint8_t used)
{
    struct distribution_window window = usual(TAKER);

    window.used = used;
    window.idle = (uint8_t)(100 - used);
    come(TAKER, FIRST, parts, 1);
    return close(window).routed != 0;
}

static void test_a_move_lasts_as_long_as_both_renew_it(void **state)
{
    (void)state;
    move();
    for (unsigned i = 0; i < 10 * DISTRIBUTION_WANTED; i++) {
        now += 1;
        assert_int_equal(close_home(true).routed, 0);
        assert_false(leaves_taker(5, 10));
    }
    for (unsigned i = 0; i < DISTRIBUTION_WANTED; i++) {
        now += 1;
        assert_int_equal(close_home(true).routed, 0);
        assert_false(leaves_taker(4, 10));
    }
    now += 1;
    assert_true(leaves_taker(4, 10)); /* it is sporadic */
    assert_int_equal(first->target, HOME);
    assert_int_equal(first->returns, 1);
    assert_int_equal(decisions.decisions[1].reason, DISTRIBUTION_SPORADIC);
    assert_false(offers_silent(90));
}

static void test_a_source_goes_home_when_it_has_not_collided_for_some_time(void **state)
{
    (void)state;
    move();
    assert_false(leaves_taker(PROFILE_PARTS, 10));
    for (unsigned i = 0; i < 3; i++) {
        now += DISTRIBUTION_PATIENCE;
        assert_false(goes_home(90));
        assert_int_equal(close_home(true).routed, 0);
        assert_false(leaves_taker(PROFILE_PARTS, 10));
    }
    now += DISTRIBUTION_PATIENCE + 1;
    assert_true(goes_home(90));
    assert_int_equal(decisions.count, 2);
    assert_int_equal(decisions.decisions[1].reason, DISTRIBUTION_HOME);
    assert_int_equal(decisions.decisions[1].origin, TAKER);
    assert_int_equal(decisions.decisions[1].target, HOME);
    assert_int_equal(decisions.decisions[1].vcpu, HOME);
    assert_int_equal(decisions.decisions[1].idle, 90);
    assert_int_equal(decisions.decisions[1].time, (uint64_t)now * PROFILE_PARTS * PART);
}

/* Its demand at its best counts, which decreases slowly. */
static void test_a_source_goes_home_if_there_is_room_for_its_demand(void **state)
{
    (void)state;
    move();
    assert_false(leaves_taker(PROFILE_PARTS, 60));
    assert_false(leaves_taker(0, 1)); /* it suffers */
    assert_int_equal(first->demand, 60);
    now += DISTRIBUTION_PATIENCE;
    assert_false(goes_home(59));
    now += DISTRIBUTION_PATIENCE;
    assert_false(goes_home(60));
    now += 1;
    assert_true(goes_home(60));
    now += DISTRIBUTION_REST + 1;
    move();
    assert_false(leaves_taker(PROFILE_PARTS, 30));
    assert_int_equal(first->demand, 58); /* it has come home once, and here once */
    assert_false(leaves_taker(PROFILE_PARTS, 100));
    now += 2 * DISTRIBUTION_PATIENCE;
    assert_false(goes_home(DISTRIBUTION_MOST_DEMANDED));
    now += 1;
    assert_true(goes_home(DISTRIBUTION_MOST_DEMANDED)); /* enough for any demand */
}

/* If it would be starved at home, it is judged as there. */
static void test_a_source_that_is_starved_at_home_is_judged_so_elsewhere(void **state)
{
    struct distribution_window window = usual(HOME);

    (void)state;
    move();
    assert_false(leaves_taker(PROFILE_PARTS, 30));
    window.is_contended = true;
    window.urgent = 30;
    window.used = 0;
    window.idle = 70;
    assert_int_equal(close(window).routed, 0);
    assert_false(leaves_taker(4, 10));
    assert_false(first->is_periodic);
    window.urgent = 31;
    assert_int_equal(close(window).routed, 0);
    assert_false(leaves_taker(1, 10));
    assert_true(first->is_periodic);
}

/* It collides there, or others leave less than a quarter of the core. */
static void test_a_taker_without_room_offers_the_source(void **state)
{
    struct distribution_window window = usual(TAKER);

    (void)state;
    move();
    for (unsigned i = 0; i <= DISTRIBUTION_PATIENCE; i++) {
        now += 1;
        assert_int_equal(close_home(true).routed, 0);
        come(TAKER, FIRST, PROFILE_PARTS, 1);
        window = usual(TAKER);
        window.is_contended = i % 2 == 0;
        window.used = 20;
        window.idle = window.is_contended ? 80 : 4;
        window = close(window);
        assert_int_equal(window.routed, 0);
        assert_int_equal(window.has_offered, i == DISTRIBUTION_PATIENCE);
        assert_true(window.has_offered || close(usual(OTHER)).routed == 0);
    }
    assert_int_equal(close(usual(OTHER)).routed, 1);
    assert_int_equal(first->target, OTHER);
    assert_int_equal(first->home, HOME);
    assert_int_equal(first->moves, 2);
    assert_int_equal(first->returns, 0);
    assert_int_equal(decisions.decisions[1].reason, DISTRIBUTION_CROWDED);
    assert_int_equal(decisions.decisions[1].origin, TAKER);
}

static void test_each_side_alone_sends_a_source_home(void **state)
{
    (void)state;
    move();
    for (unsigned i = 0; i < DISTRIBUTION_WANTED; i++) {
        now += 1;
        assert_int_equal(close_home(true).routed, 0);
    }
    now += 1;
    assert_int_equal(close_home(true).routed, 1); /* the taker sleeps */
    (void)setup(state);
    move();
    now += DISTRIBUTION_PATIENCE;
    assert_false(leaves_taker(PROFILE_PARTS, 10));
    now += 1;
    assert_int_equal(close(usual(OTHER)).routed, 0);
    assert_true(leaves_taker(PROFILE_PARTS, 10)); /* home sleeps */
}

/* Lets the source go home after so many windows without a collision, and not before. */
static void come_home_after(unsigned windows)
{
    now += windows;
    assert_false(goes_home(90));
    now += 1;
    assert_true(goes_home(90));
}

static void test_a_return_that_is_followed_by_a_collision_doubles_the_durations(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 8; i++) {
        move();
        come_home_after(DISTRIBUTION_PATIENCE
                        << (i < DISTRIBUTION_DOUBLED ? i : DISTRIBUTION_DOUBLED));
        now += DISTRIBUTION_REST + 1;
    }
    now += DISTRIBUTION_PROVEN;
    move();
    come_home_after(DISTRIBUTION_PATIENCE); /* the last one was right */
    distribution_set_home(first, HOME, now);
    now += DISTRIBUTION_REST + 1;
    move();
    come_home_after(DISTRIBUTION_PATIENCE); /* the guest has routed it */
}

/* Its core has to look again, even if the taker executes without an exit. */
static void test_a_taker_knows_that_it_has_taken(void **state)
{
    (void)state;
    move();
    assert_false(close_home(true).has_taken);
    assert_false(close(usual(OTHER)).has_taken);
    assert_true(close(usual(TAKER)).has_taken);
    come_home_after(DISTRIBUTION_PATIENCE);
    assert_false(close(usual(TAKER)).has_taken);
}

static void test_a_taker_that_takes_no_interrupts_gives_all_back(void **state)
{
    struct distribution_window window = usual(TAKER);

    (void)state;
    move();
    window.is_open = false;
    come(TAKER, FIRST, PROFILE_PARTS, 1);
    assert_int_equal(close(window).routed, 1);
    assert_int_equal(first->target, HOME);
    assert_int_equal(decisions.decisions[1].reason, DISTRIBUTION_CLOSED);
    /* That is no misjudgement. A home that takes none has nothing to give back. */
    now += DISTRIBUTION_REST + 1;
    move();
    assert_int_equal(first->doubled, 0);
    window.time = now;
    window.vcpu = HOME;
    assert_int_equal(close(window).routed, 0);
}

/* A window of a taker in which the source does not come. It is active at the end. */
static bool is_given_back(uint8_t used)
{
    struct distribution_window window = usual(TAKER);

    now += 1;
    window.time = now;
    window.used = used;
    window.active = 1;
    assert_int_equal(close_home(true).routed, 0);
    return close(window).routed != 0;
}

static void test_a_source_that_the_taker_does_not_take_is_given_back(void **state)
{
    (void)state;
    for (unsigned doubled = 0; doubled < 2; doubled++) {
        move();
        assert_int_equal(first->doubled, doubled);
        for (unsigned i = 1; i < DISTRIBUTION_REST; i++) {
            assert_false(is_given_back(1));
        }
        now += 1;
        assert_false(leaves_taker(1, 10)); /* it was taken */
        for (unsigned i = 1; i < DISTRIBUTION_REST; i++) {
            assert_false(is_given_back(1));
        }
        assert_false(is_given_back(0)); /* the VCPU did not execute */
        for (unsigned i = 1; i < DISTRIBUTION_REST; i++) {
            assert_false(is_given_back(1));
        }
        assert_true(is_given_back(1));
        now += DISTRIBUTION_REST << doubled;
        assert_false(offer());
        now += 1;
    }
}

static void test_a_source_rests_at_home(void **state)
{
    (void)state;
    move();
    come_home_after(DISTRIBUTION_PATIENCE);
    assert_false(offer());
    now += DISTRIBUTION_REST;
    assert_false(offer());
    now += 1;
    assert_true(offer());
}

static void test_the_guests_route_ends_a_move(void **state)
{
    (void)state;
    move();
    distribution_set_home(first, OTHER, now);
    assert_int_equal(first->home, OTHER);
    assert_int_equal(first->target, OTHER);
    assert_int_equal(close(usual(TAKER)).routed, 0); /* the offer was that of the other home */
    distribution_set_home(first, TAKER, now);
    assert_int_equal(close(usual(TAKER)).routed, 0);
    assert_int_equal(close_home(true).routed, 0);
}

static void test_the_first_spis_have_places(void **state)
{
    (void)state;
    distribution = (struct distribution){.sources = {{.number = 0}}};
    for (unsigned i = 0; i < PROFILE_SOURCES; i++) {
        assert_ptr_equal(distribution_find(&distribution, FIRST + i), &distribution.sources[i]);
    }
    assert_null(distribution_find(&distribution, FIRST + PROFILE_SOURCES));
    assert_ptr_equal(distribution_find(&distribution, SECOND), second);
}

/* The taker has read the counter before home wrote a later time. */
static void test_times_of_another_core_may_be_later(void **state)
{
    struct distribution_window window;

    (void)state;
    assert_true(offer());
    window = usual(TAKER);
    window.time -= 1;
    assert_int_equal(close(window).routed, 1);
    now += 1;
    assert_int_equal(close_home(true).routed, 0);
    window = usual(TAKER);
    window.time -= 1;
    come(TAKER, FIRST, PROFILE_PARTS, 1);
    assert_int_equal(close(window).routed, 0);
}

static void test_the_last_decisions_are_kept(void **state)
{
    (void)state;
    for (unsigned i = 0; i < DISTRIBUTION_DECISIONS; i++) {
        (void)offer();
        now += DISTRIBUTION_PROVEN + 1;
        move();
        come_home_after(DISTRIBUTION_PATIENCE);
    }
    assert_int_equal(decisions.count, 2 * DISTRIBUTION_DECISIONS);
    for (unsigned i = 0; i < DISTRIBUTION_DECISIONS; i++) {
        const struct distribution_decision *decision = &decisions.decisions[i];

        assert_int_equal(decision->number, FIRST);
        assert_int_equal(decision->reason, i % 2 == 0 ? DISTRIBUTION_COLLIDED : DISTRIBUTION_HOME);
    }
    assert_int_equal(decisions.decisions[DISTRIBUTION_DECISIONS - 1].time,
                     (uint64_t)now * PROFILE_PARTS * PART);
}

static void test_counts_of_moves_end_at_their_largest_value(void **state)
{
    (void)state;
    first->moves = UINT16_MAX - 1;
    for (unsigned i = 0; i < 3; i++) {
        move();
        assert_int_equal(first->moves, UINT16_MAX);
        distribution_set_home(first, HOME, now);
        now += DISTRIBUTION_REST + 1;
    }
}

/* All sources have to go home at the end of a window: half of them do, the others in the next one.
 */
static void test_many_returns(void **state)
{
    struct distribution_window window = usual(TAKER);

    (void)state;
    for (unsigned i = 0; i < PROFILE_SOURCES; i++) {
        distribution.sources[i] = (struct distribution_source){
            .number = (uint16_t)(FIRST + i), .home = HOME, .target = TAKER};
    }
    assert_int_equal(close(window).routed, 0xff);
    assert_int_equal(close(window).routed, 0xff00);
    assert_int_equal(close(window).routed, 0);
}

/* A VCPU turns off: the sources that it has taken go home, a few at a time, and no others. */
static void test_return(void **state)
{
    struct distribution_window window = usual(TAKER);

    (void)state;
    for (unsigned i = 0; i < PROFILE_SOURCES; i++) {
        distribution.sources[i] = (struct distribution_source){
            .number = (uint16_t)(FIRST + i), .home = i == 3 ? TAKER : HOME, .target = TAKER};
    }
    second->target = OTHER;
    distribution_return(&distribution, &window, &decisions, 4);
    assert_int_equal(window.routed, 0x35); /* all but those two */
    distribution_return(&distribution, &window, &decisions, PROFILE_SOURCES);
    assert_int_equal(window.routed, 0xffc0);
    distribution_return(&distribution, &window, &decisions, 4);
    assert_int_equal(window.routed, 0);
    assert_int_equal(decisions.count, 14);
    assert_int_equal(decisions.decisions[0].reason, DISTRIBUTION_CLOSED);
    assert_int_equal(second->target, OTHER);
    assert_int_equal(distribution.sources[3].target, TAKER);
    assert_int_equal(first->target, HOME);
    assert_int_equal(first->returns, 1);
    assert_int_equal(first->left, 0); /* that was no decision of the policy */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_periodic_and_sporadic, setup),
        cmocka_unit_test_setup(test_sources_of_a_busy_core, setup),
        cmocka_unit_test_setup(test_late_windows, setup),
        cmocka_unit_test_setup(test_others_numbers_are_not_counted, setup),
        cmocka_unit_test_setup(test_only_collisions_are_offered, setup),
        cmocka_unit_test_setup(test_a_vcpu_collides_with_more_urgent_ones_alone, setup),
        cmocka_unit_test_setup(test_take, setup),
        cmocka_unit_test_setup(test_a_core_with_collisions_has_no_room_for_some_time, setup),
        cmocka_unit_test_setup(test_offers_expire, setup),
        cmocka_unit_test_setup(test_a_source_that_is_starved_at_home_stays_wanted, setup),
        cmocka_unit_test_setup(test_one_source_a_window_the_most_frequent_first, setup),
        cmocka_unit_test_setup(test_home_does_not_take_its_own_offer, setup),
        cmocka_unit_test_setup(test_a_vcpu_of_homes_core_does_not_take, setup),
        cmocka_unit_test_setup(test_a_move_lasts_as_long_as_both_renew_it, setup),
        cmocka_unit_test_setup(test_a_source_goes_home_when_it_has_not_collided_for_some_time,
                               setup),
        cmocka_unit_test_setup(test_a_source_goes_home_if_there_is_room_for_its_demand, setup),
        cmocka_unit_test_setup(test_a_source_that_is_starved_at_home_is_judged_so_elsewhere, setup),
        cmocka_unit_test_setup(test_a_taker_without_room_offers_the_source, setup),
        cmocka_unit_test_setup(test_each_side_alone_sends_a_source_home, setup),
        cmocka_unit_test_setup(test_a_return_that_is_followed_by_a_collision_doubles_the_durations,
                               setup),
        cmocka_unit_test_setup(test_a_taker_knows_that_it_has_taken, setup),
        cmocka_unit_test_setup(test_a_taker_that_takes_no_interrupts_gives_all_back, setup),
        cmocka_unit_test_setup(test_a_source_that_the_taker_does_not_take_is_given_back, setup),
        cmocka_unit_test_setup(test_a_source_rests_at_home, setup),
        cmocka_unit_test_setup(test_the_guests_route_ends_a_move, setup),
        cmocka_unit_test_setup(test_the_first_spis_have_places, setup),
        cmocka_unit_test_setup(test_times_of_another_core_may_be_later, setup),
        cmocka_unit_test_setup(test_the_last_decisions_are_kept, setup),
        cmocka_unit_test_setup(test_counts_of_moves_end_at_their_largest_value, setup),
        cmocka_unit_test_setup(test_many_returns, setup),
        cmocka_unit_test_setup(test_return, setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
