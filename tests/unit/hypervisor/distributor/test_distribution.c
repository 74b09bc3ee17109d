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
#define PART   100u /* ticks */
#define WINDOW ((uint64_t)PART * PROFILE_PARTS)
#define LEASE  ((uint64_t)PART * DISTRIBUTION_LEASE)
#define REST   ((uint64_t)PART * DISTRIBUTION_REST)

static struct distribution distribution;
static struct profile profiles[VCPUS];
static struct distribution_source *const first = &distribution.sources[0];
static struct distribution_source *const second = &distribution.sources[1];
static uint64_t now;

static int start_at(uint64_t time)
{
    now = time;
    distribution = (struct distribution){.sources = {{.number = FIRST}, {.number = SECOND}}};
    for (unsigned vcpu = 0; vcpu < VCPUS; vcpu++) {
        profiles[vcpu] = (struct profile){0};
    }
    return 0;
}

static int setup(void **state)
{
    (void)state;
    return start_at(1000 * WINDOW);
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
    return (struct distribution_window){.now = now,
                                        .lease = now + LEASE,
                                        .rest = now + REST,
                                        .parts = PROFILE_PARTS,
                                        .vcpu = vcpu,
                                        .neighbours = UINT32_C(1) << vcpu,
                                        .may_offer = true,
                                        .is_open = true,
                                        .can_keep = true,
                                        .has_room = vcpu != HOME};
}

static struct distribution_window close(struct distribution_window window)
{
    distribution_close_window(&distribution, &profiles[window.vcpu], &window);
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

    window.is_busy = true;
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
    window.has_room = false;
    assert_int_equal(close(window).routed, 0);
    assert_int_equal(close(usual(TAKER)).routed, 1);
    assert_int_equal(first->target, TAKER);
    assert_int_equal(first->home, HOME);
    assert_int_equal(first->moves, 1);
    assert_int_equal(close(usual(OTHER)).routed, 0); /* it is taken */
}

static void test_offers_expire(void **state)
{
    (void)state;
    assert_true(offer());
    now += LEASE + 1;
    assert_int_equal(close(usual(TAKER)).routed, 0);
    assert_true(offer());
    now += LEASE;
    assert_int_equal(close(usual(TAKER)).routed, 1);
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
    window.has_room = true;
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

/* A window of both VCPUs in which home renews the collision, or the taker the source. Returns true
 * if one of them sent it home. */
static bool window_passes(bool home_renews, bool taker_renews)
{
    uint32_t routed;

    now += WINDOW;
    routed = close_home(home_renews).routed;
    come(TAKER, FIRST, taker_renews ? 5 : 4, 1);
    return (routed | close(usual(TAKER)).routed) != 0;
}

static void test_a_move_lasts_as_long_as_both_renew_it(void **state)
{
    (void)state;
    move();
    for (unsigned i = 0; i < 100; i++) {
        assert_false(window_passes(true, true));
    }
    for (unsigned i = 0; i < 3; i++) {
        assert_false(window_passes(false, true));
    }
    assert_true(window_passes(false, true)); /* the collision is over */
    assert_int_equal(first->target, HOME);
    assert_int_equal(first->returns, 1);
    now += REST + 1;
    move();
    assert_false(window_passes(true, true));
    for (unsigned i = 0; i < 10; i++) {
        assert_false(window_passes(true, false));
    }
    assert_true(window_passes(true, false)); /* it is sporadic */
    assert_int_equal(first->target, HOME);
    assert_int_equal(first->returns, 2);
}

static void test_each_side_alone_sends_a_source_home(void **state)
{
    struct distribution_window window;

    (void)state;
    move();
    now += REST;
    assert_int_equal(close_home(true).routed, 0);
    now += 1;
    assert_int_equal(close_home(true).routed, 1); /* the taker sleeps */
    now += REST + 1;
    move();
    now += LEASE + 1;
    assert_int_equal(close(usual(OTHER)).routed, 0);
    come(TAKER, FIRST, PROFILE_PARTS, 1);
    assert_int_equal(close(usual(TAKER)).routed, 1); /* home sleeps */
    now += REST + 1;
    move();
    now += REST + 1;
    assert_int_equal(close_home(true).routed, 1);
    now += REST + 1;
    move();
    window = usual(TAKER);
    window.can_keep = false;
    for (unsigned i = 0; i < 11; i++) {
        now += WINDOW;
        come(TAKER, FIRST, PROFILE_PARTS, 1);
        assert_int_equal(first->target, TAKER);
        window.now = now;
        window.lease = now + LEASE;
        first->collides = now;
        assert_int_equal(close(window).routed, i == 10 ? 1 : 0); /* no room any more */
    }
}

/* Its core has to look again, even if the taker executes without an exit. */
static void test_a_taker_knows_that_it_has_taken(void **state)
{
    (void)state;
    move();
    assert_false(close_home(true).has_taken);
    assert_false(close(usual(OTHER)).has_taken);
    assert_true(close(usual(TAKER)).has_taken);
    now += REST + 1;
    assert_int_equal(close_home(true).routed, 1);
    assert_false(close(usual(TAKER)).has_taken);
}

static void test_a_taker_that_takes_no_interrupts_gives_all_back(void **state)
{
    struct distribution_window window = usual(TAKER);

    (void)state;
    move();
    window.is_open = false;
    window.has_room = false;
    come(TAKER, FIRST, PROFILE_PARTS, 1);
    assert_int_equal(close(window).routed, 1);
    assert_int_equal(first->target, HOME);
    /* A home that takes none has nothing to give back. */
    now += REST + 1;
    move();
    window.now = now;
    window.vcpu = HOME;
    assert_int_equal(close(window).routed, 0);
}

static void test_a_source_rests_at_home(void **state)
{
    (void)state;
    move();
    now += LEASE + 1;
    assert_int_equal(close_home(false).routed, 1);
    assert_false(offer());
    now += REST;
    assert_false(offer());
    now += 1;
    assert_true(offer());
}

static void test_the_guests_route_ends_a_move(void **state)
{
    (void)state;
    move();
    distribution_set_home(first, OTHER, now + REST);
    assert_int_equal(first->home, OTHER);
    assert_int_equal(first->target, OTHER);
    assert_int_equal(close(usual(TAKER)).routed, 0); /* the offer was that of the other home */
    distribution_set_home(first, TAKER, now + REST);
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
    window.now -= 10;
    window.lease -= 10;
    assert_int_equal(close(window).routed, 1);
    now += WINDOW;
    assert_int_equal(close_home(true).routed, 0);
    window = usual(TAKER);
    window.now -= 10;
    window.lease -= 10;
    come(TAKER, FIRST, PROFILE_PARTS, 1);
    assert_int_equal(close(window).routed, 0);
}

static void test_times_beyond_32_bits(void **state)
{
    (void)state;
    for (unsigned i = 0; i < 6; i++) {
        (void)start_at((UINT64_C(1) << 32) - 1 - i * WINDOW);
        test_a_move_lasts_as_long_as_both_renew_it(NULL);
        (void)start_at((UINT64_C(1) << 32) - 1 - i * WINDOW);
        test_a_source_rests_at_home(NULL);
    }
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
        cmocka_unit_test_setup(test_offers_expire, setup),
        cmocka_unit_test_setup(test_one_source_a_window_the_most_frequent_first, setup),
        cmocka_unit_test_setup(test_home_does_not_take_its_own_offer, setup),
        cmocka_unit_test_setup(test_a_vcpu_of_homes_core_does_not_take, setup),
        cmocka_unit_test_setup(test_a_move_lasts_as_long_as_both_renew_it, setup),
        cmocka_unit_test_setup(test_each_side_alone_sends_a_source_home, setup),
        cmocka_unit_test_setup(test_a_taker_knows_that_it_has_taken, setup),
        cmocka_unit_test_setup(test_a_taker_that_takes_no_interrupts_gives_all_back, setup),
        cmocka_unit_test_setup(test_a_source_rests_at_home, setup),
        cmocka_unit_test_setup(test_the_guests_route_ends_a_move, setup),
        cmocka_unit_test_setup(test_the_first_spis_have_places, setup),
        cmocka_unit_test_setup(test_times_of_another_core_may_be_later, setup),
        cmocka_unit_test_setup(test_times_beyond_32_bits, setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
