/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Tests the scheduler of shared cores: VCPUs that always have work, that block and wake at random,
 * and that try to get more than their budgets.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "scheduler/reservation.h"

#define CAPACITY 18u
#define VCPUS    4u
#define IO_LEVEL 1u
#define ALIGNED  2u
#define STEPS    200000u
#define SEEDS    20u

static const struct {
    uint64_t budget, period;
} parameters[VCPUS] = {{30, 100}, {20, 200}, {100, 400}, {70, 800}};

static struct reservation reservation;
static union reservation_server servers[VCPUS];
static bool has_io;      /* the VCPU of level IO_LEVEL is an I/O VCPU */
static bool has_aligned; /* the VCPU of level ALIGNED is aligned */
static uint64_t executed[VCPUS];
static uint32_t random_state;

static uint32_t random_below(uint32_t limit)
{
    random_state = random_state * 1664525u + 1013904223u;
    return (random_state >> 8) % limit;
}

static int setup(void **state)
{
    (void)state;
    reservation_init(&reservation);
    for (unsigned level = 0; level < VCPUS; level++) {
        uint64_t budget = parameters[level].budget, period = parameters[level].period;

        executed[level] = 0;
        if (has_io && level == IO_LEVEL) {
            assert_int_equal(pibs_server_init(&servers[level].io, budget, period, 0), SCHEDULE_OK);
            reservation_add_io(&reservation, level, &servers[level]);
        } else if (has_aligned && level == ALIGNED) {
            assert_int_equal(deferrable_server_init(&servers[level].aligned, budget, period, 0),
                             SCHEDULE_OK);
            reservation_add_aligned(&reservation, level, &servers[level]);
        } else {
            assert_int_equal(
                sporadic_server_init(&servers[level].main, budget, period, CAPACITY, 0),
                SCHEDULE_OK);
            reservation_add(&reservation, level, &servers[level]);
        }
    }
    return 0;
}

static int setup_aligned(void **state)
{
    has_aligned = true;
    return setup(state);
}

static int teardown_aligned(void **state)
{
    (void)state;
    has_aligned = false;
    return 0;
}

static int setup_io(void **state)
{
    has_io = true;
    return setup(state);
}

static int teardown_io(void **state)
{
    (void)state;
    has_io = false;
    return 0;
}

/* Lets the chosen VCPU execute until the next choice, for `limit` ticks at most. Returns the time.
 */
static uint64_t execute(uint64_t now, uint64_t limit)
{
    unsigned level = reservation_choose(&reservation, now);
    uint64_t next = reservation_next_choice(&reservation, level, now);

    if (next - now > limit) {
        next = now + limit;
    }
    assert_true(next > now);
    if (level != RESERVATION_NONE) {
        executed[level] += next - now;
        reservation_charge(&reservation, level, next - now, next, UINT64_MAX);
    }
    return next;
}

static void test_nobody_has_work(void **state)
{
    (void)state;
    assert_int_equal(reservation_choose(&reservation, 0), RESERVATION_NONE);
    assert_int_equal(reservation_next_choice(&reservation, RESERVATION_NONE, 0), UINT64_MAX);
    reservation_unblock(&reservation, 2, 0);
    assert_int_equal(reservation_choose(&reservation, 0), 2);
    reservation_unblock(&reservation, 1, 0);
    assert_int_equal(reservation_choose(&reservation, 0), 1);
    reservation_block(&reservation, 1);
    assert_int_equal(reservation_choose(&reservation, 0), 2);
    reservation_block(&reservation, 2);
    assert_int_equal(reservation_choose(&reservation, 0), RESERVATION_NONE);
}

/* Each VCPU that always has work gets its budget in each period, to the tick. */
static void test_shares_are_exact(void **state)
{
    const uint64_t periods = 1000, end = periods * 800;
    uint64_t now = 0;

    (void)state;
    for (unsigned level = 0; level < VCPUS; level++) {
        reservation_unblock(&reservation, level, 0);
    }
    while (now < end) {
        now = execute(now, end - now);
    }
    for (unsigned level = 0; level < VCPUS; level++) {
        assert_int_equal(executed[level],
                         end / parameters[level].period * parameters[level].budget);
    }
}

/* The budget is used up when it is used up, and the next one comes a period after it began. */
static void test_budget_ends(void **state)
{
    (void)state;
    reservation_unblock(&reservation, 0, 0);
    assert_int_equal(reservation_next_choice(&reservation, 0, 0), 30);
    reservation_charge(&reservation, 0, 30, 30, UINT64_MAX);
    assert_int_equal(reservation_choose(&reservation, 30), RESERVATION_NONE);
    assert_int_equal(reservation_next_choice(&reservation, RESERVATION_NONE, 30), 100);
    assert_int_equal(reservation_choose(&reservation, 99), RESERVATION_NONE);
    assert_int_equal(reservation_choose(&reservation, 100), 0);
    reservation_charge(&reservation, 0, 40, 140, UINT64_MAX); /* charged late: 10 ticks too many */
    assert_int_equal(reservation_choose(&reservation, 140), RESERVATION_NONE);
    assert_int_equal(reservation_next_choice(&reservation, RESERVATION_NONE, 140), 210);
}

/* A VCPU that waits for its budget blocks, and wakes before it has some. */
static void test_block_without_budget(void **state)
{
    (void)state;
    reservation_unblock(&reservation, 0, 0);
    reservation_charge(&reservation, 0, 30, 30, UINT64_MAX);
    reservation_block(&reservation, 0);
    assert_int_equal(reservation_next_choice(&reservation, RESERVATION_NONE, 30), UINT64_MAX);
    reservation_unblock(&reservation, 0, 50);
    assert_int_equal(reservation_choose(&reservation, 50), RESERVATION_NONE);
    assert_int_equal(reservation_next_choice(&reservation, RESERVATION_NONE, 50), 100);
    reservation_block(&reservation, 0);
    reservation_charge(&reservation, 0, 0, 70, UINT64_MAX); /* a blocked VCPU stays so */
    assert_int_equal(reservation_choose(&reservation, 200), RESERVATION_NONE);
}

/* The change to another VCPU is charged to the one that has blocked, for the budget that it has
 * used before. */
static void test_charge_after_block(void **state)
{
    (void)state;
    reservation_unblock(&reservation, 0, 0);
    reservation_block(&reservation, 0);
    reservation_charge(&reservation, 0, 12, 12, UINT64_MAX);
    reservation_unblock(&reservation, 0, 50);
    assert_int_equal(reservation_choose(&reservation, 50), 0);
    assert_int_equal(reservation_next_choice(&reservation, 0, 50), 50 + 18);
    reservation_charge(&reservation, 0, 18, 68, UINT64_MAX);
    assert_int_equal(reservation_choose(&reservation, 68), RESERVATION_NONE);
    assert_int_equal(reservation_next_choice(&reservation, RESERVATION_NONE, 68), 100);
    assert_int_equal(reservation_choose(&reservation, 100), 0);
    assert_int_equal(reservation_next_choice(&reservation, 0, 100), 112);
}

/* An interrupt is handled for a VCPU that waits for its budget: the next one is smaller. */
static void test_charge_without_budget(void **state)
{
    (void)state;
    reservation_unblock(&reservation, 0, 0);
    reservation_charge(&reservation, 0, 30, 30, UINT64_MAX);
    reservation_charge(&reservation, 0, 4, 50, UINT64_MAX);
    assert_int_equal(reservation_choose(&reservation, 103), RESERVATION_NONE);
    assert_int_equal(reservation_next_choice(&reservation, RESERVATION_NONE, 103), 104);
    assert_int_equal(reservation_choose(&reservation, 104), 0);
    assert_int_equal(reservation_next_choice(&reservation, 0, 104), 130);
}

/* VCPUs that block and wake when they like take no more than their budgets: in no interval does one
 * execute for more than the sporadic server admits, so neither does it in the whole run. */
static void test_random(void **state)
{
    for (unsigned seed = 1; seed <= SEEDS; seed++) {
        uint64_t now = 0;

        (void)setup(state);
        random_state = seed;
        for (unsigned i = 0; i < STEPS / SEEDS; i++) {
            unsigned level = random_below(VCPUS);

            if (random_below(2) != 0) {
                reservation_unblock(&reservation, level, now);
            } else {
                reservation_block(&reservation, level);
            }
            now = execute(now, 1 + random_below(60));
        }
        for (unsigned level = 0; level < VCPUS; level++) {
            uint64_t periods = now / parameters[level].period + 1;

            assert_true(executed[level] <= periods * parameters[level].budget);
        }
    }
}

/* An I/O VCPU that has blocked or used its budget continues when its use is paid for: a tenth of
 * the time. Use after it has blocked counts, even if it wakes before it is charged. */
static void test_io_vcpu(void **state)
{
    (void)state;
    reservation_unblock(&reservation, IO_LEVEL, 5);
    reservation_unblock(&reservation, 2, 5);
    assert_int_equal(reservation_choose(&reservation, 5), IO_LEVEL);
    assert_int_equal(reservation_next_choice(&reservation, IO_LEVEL, 5), 25);
    reservation_charge(&reservation, IO_LEVEL, 7, 12, UINT64_MAX);
    assert_int_equal(reservation_next_choice(&reservation, IO_LEVEL, 12), 25);
    reservation_block(&reservation, IO_LEVEL);
    assert_int_equal(reservation_choose(&reservation, 12), 2);
    reservation_charge(&reservation, IO_LEVEL, 1, 13, UINT64_MAX);
    reservation_unblock(&reservation, IO_LEVEL, 20);
    assert_int_equal(reservation_choose(&reservation, 20), 2);
    assert_int_equal(reservation_next_choice(&reservation, 2, 20), 85); /* 5 + 10 * 8 */
    assert_int_equal(reservation_choose(&reservation, 85), IO_LEVEL);
    reservation_charge(&reservation, IO_LEVEL, 20, 105, UINT64_MAX);
    assert_int_equal(reservation_choose(&reservation, 105), 2);
    assert_int_equal(reservation_choose(&reservation, 284), 2);
    assert_int_equal(reservation_choose(&reservation, 285), IO_LEVEL);
    reservation_charge(&reservation, IO_LEVEL, 5, 290, UINT64_MAX);
    reservation_block(&reservation, IO_LEVEL);
    reservation_unblock(&reservation, IO_LEVEL, 290);
    assert_int_equal(reservation_choose(&reservation, 334), 2);
    assert_int_equal(reservation_choose(&reservation, 335), IO_LEVEL);
}

/* An aligned VCPU has its budget from each multiple of 400 on, whenever it wakes. What it does not
 * use until then is lost. */
static void test_aligned_vcpu(void **state)
{
    (void)state;
    reservation_unblock(&reservation, ALIGNED, 250);
    assert_int_equal(reservation_choose(&reservation, 250), ALIGNED);
    assert_int_equal(reservation_next_choice(&reservation, ALIGNED, 250), 350);
    reservation_charge(&reservation, ALIGNED, 100, 350, UINT64_MAX);
    assert_int_equal(reservation_choose(&reservation, 350), RESERVATION_NONE);
    assert_int_equal(reservation_next_choice(&reservation, RESERVATION_NONE, 350), 400);
    assert_int_equal(reservation_choose(&reservation, 400), ALIGNED);
    reservation_charge(&reservation, ALIGNED, 60, 460, UINT64_MAX);
    reservation_unblock(&reservation, 0, 460); /* preempts it until the end of the period */
    assert_int_equal(reservation_choose(&reservation, 460), 0);
    reservation_block(&reservation, 0);
    assert_int_equal(reservation_choose(&reservation, 820), ALIGNED);
    assert_int_equal(reservation_next_choice(&reservation, ALIGNED, 820), 920);
    assert_int_equal(reservation_next_choice(&reservation, ALIGNED, 1150), 1300);
}

/* An aligned VCPU without budget sleeps until the next multiple of its period, if its timer expires
 * before. */
static void test_aligned_vcpu_sleeps(void **state)
{
    (void)state;
    reservation_unblock(&reservation, ALIGNED, 10);
    assert_int_equal(reservation_choose(&reservation, 10), ALIGNED);
    reservation_block(&reservation, ALIGNED);
    reservation_charge(&reservation, ALIGNED, 100, 110, 200);
    assert_int_equal(reservation_next_choice(&reservation, RESERVATION_NONE, 110), 400);
    reservation_sleep(&reservation, ALIGNED, 500);
    assert_int_equal(reservation_next_choice(&reservation, RESERVATION_NONE, 110), 500);
    assert_int_equal(reservation_find_due(&reservation, 499), RESERVATION_NONE);
    assert_int_equal(reservation_choose(&reservation, 500), ALIGNED);
    assert_int_equal(reservation_next_choice(&reservation, ALIGNED, 500), 600);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_nobody_has_work, setup),
        cmocka_unit_test_setup(test_shares_are_exact, setup),
        cmocka_unit_test_setup(test_budget_ends, setup),
        cmocka_unit_test_setup(test_block_without_budget, setup),
        cmocka_unit_test_setup(test_charge_after_block, setup),
        cmocka_unit_test_setup(test_charge_without_budget, setup),
        cmocka_unit_test(test_random),
        cmocka_unit_test_setup_teardown(test_io_vcpu, setup_io, teardown_io),
        cmocka_unit_test_setup_teardown(test_aligned_vcpu, setup_aligned, teardown_aligned),
        cmocka_unit_test_setup_teardown(test_aligned_vcpu_sleeps, setup_aligned, teardown_aligned),
        cmocka_unit_test_setup_teardown(test_random, setup_aligned, teardown_aligned),
        cmocka_unit_test_setup_teardown(test_shares_are_exact, setup_aligned, teardown_aligned),
        cmocka_unit_test_setup_teardown(test_random, setup_io, teardown_io),
        cmocka_unit_test_setup_teardown(test_shares_are_exact, setup_io, teardown_io),
    };

    return cmocka_run_group_tests_name("reservation", tests, NULL, NULL);
}
