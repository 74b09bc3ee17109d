/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests what the windows of a limited VCPU grant, what they carry over, and when they end. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "bandwidth/window.h"

#define START  1000u
#define TICKS  100u
#define BUDGET 50u

static const struct bandwidth_limits usual = {.ticks = TICKS, .budget = BUDGET};
static struct bandwidth_window window;

static int open_first(void **state)
{
    (void)state;
    window_open(&window, &usual, START);
    return 0;
}

static void first_window_has_the_budget(void **state)
{
    (void)state;
    assert_int_equal(window.end, START + TICKS);
    assert_int_equal(window.granted, BUDGET);
    assert_int_equal(window.debt, 0);
    assert_int_equal(window.is_spent, 0);
}

static void nothing_ends_before_the_end(void **state)
{
    (void)state;
    window_spend(&window);
    assert_false(window_advance(&window, &usual, BUDGET, START + TICKS - 1));
    assert_int_equal(window.end, START + TICKS);
    assert_int_equal(window.is_spent, 1);
}

static void next_window_has_the_budget_again(void **state)
{
    (void)state;
    window_spend(&window);
    assert_true(window_advance(&window, &usual, BUDGET, START + TICKS));
    assert_int_equal(window.end, START + 2 * TICKS);
    assert_int_equal(window.granted, BUDGET);
    assert_int_equal(window.is_spent, 0);
}

static void unused_events_are_lost(void **state)
{
    (void)state;
    assert_true(window_advance(&window, &usual, 0, START + TICKS));
    assert_int_equal(window.granted, BUDGET);
    assert_true(window_advance(&window, &usual, BUDGET - 1, START + 2 * TICKS));
    assert_int_equal(window.granted, BUDGET);
}

static void events_beyond_the_grant_are_paid_next(void **state)
{
    (void)state;
    assert_true(window_advance(&window, &usual, BUDGET + 7, START + TICKS));
    assert_int_equal(window.granted, BUDGET - 7);
    assert_int_equal(window.debt, 0);
    /* The grant was smaller, and is exceeded by 3. */
    assert_true(window_advance(&window, &usual, BUDGET - 4, START + 2 * TICKS));
    assert_int_equal(window.granted, BUDGET - 3);
    assert_true(window_advance(&window, &usual, 0, START + 3 * TICKS));
    assert_int_equal(window.granted, BUDGET);
}

static void large_debt_parks_for_whole_windows(void **state)
{
    (void)state;
    assert_true(window_advance(&window, &usual, 3 * BUDGET + 1, START + TICKS));
    for (uint64_t passed = 1; passed <= 2; passed++) {
        assert_int_equal(window.granted, 0);
        assert_int_equal(window.is_spent, 1);
        assert_true(window_advance(&window, &usual, 0, START + (passed + 1) * TICKS));
    }
    assert_int_equal(window.granted, BUDGET - 1);
    assert_int_equal(window.is_spent, 0);
}

/* A debt that is paid in whole by one budget leaves a window without a grant, then a full one. */
static void debt_of_one_budget(void **state)
{
    (void)state;
    assert_true(window_advance(&window, &usual, 2 * BUDGET, START + TICKS));
    assert_int_equal(window.granted, 0);
    assert_int_equal(window.debt, 0);
    assert_int_equal(window.is_spent, 1);
    assert_true(window_advance(&window, &usual, 0, START + 2 * TICKS));
    assert_int_equal(window.granted, BUDGET);
}

static void late_call_keeps_the_ends(void **state)
{
    (void)state;
    assert_true(window_advance(&window, &usual, 0, START + TICKS + TICKS / 2));
    assert_int_equal(window.end, START + 2 * TICKS);
    assert_true(window_advance(&window, &usual, 0, START + 5 * TICKS));
    assert_int_equal(window.end, START + 6 * TICKS);
}

static void missed_windows_pay(void **state)
{
    (void)state;
    /* A debt of 2 budgets and 5 events. Two windows without events are over when the call comes. */
    assert_true(window_advance(&window, &usual, 3 * BUDGET + 5, START + 3 * TICKS));
    assert_int_equal(window.granted, BUDGET - 5);
    assert_true(window_advance(&window, &usual, 3 * BUDGET, START + 100 * TICKS));
    assert_int_equal(window.granted, BUDGET);
    assert_int_equal(window.debt, 0);
}

static void closed_window_stays_closed(void **state)
{
    (void)state;
    window_spend(&window);
    window_close(&window);
    assert_int_equal(window.is_spent, 0);
    window_spend(&window); /* an overflow that arrives late */
    assert_int_equal(window.is_spent, 0);
    assert_false(window_advance(&window, &usual, UINT32_MAX, WINDOW_NEVER - 1));
}

static void largest_values(void **state)
{
    const struct bandwidth_limits least = {.ticks = 1, .budget = 1};
    const struct bandwidth_limits most = {.ticks = UINT64_C(1) << 40, .budget = INT32_MAX};

    (void)state;
    window_open(&window, &least, START);
    window.debt = UINT32_MAX;
    assert_true(window_advance(&window, &least, UINT32_MAX, START + 1));
    assert_int_equal(window.debt, UINT32_MAX - 1); /* kept at the largest value, then one paid */
    assert_true(window_advance(&window, &least, 0, START + (UINT64_C(1) << 62)));
    assert_int_equal(window.debt, 0);
    assert_int_equal(window.granted, 1);
    window_open(&window, &most, START);
    assert_true(window_advance(&window, &most, UINT32_MAX, START + (UINT64_C(1) << 40)));
    assert_int_equal(window.granted, 0);
    assert_int_equal(window.debt, UINT32_MAX - 2u * INT32_MAX);
}

/* Over all windows the VCPU never has more than their budgets and one latency, whatever latencies
 * its overflows have. */
static void no_sequence_has_more(void **state)
{
    enum { LATENCY = 13, WINDOWS = 10000 };
    uint64_t total = 0;

    (void)state;
    for (uint64_t n = 1; n <= WINDOWS; n++) {
        uint32_t late = (uint32_t)(n * 7919u % (LATENCY + 1u));
        uint32_t used = window.granted + (window.is_spent ? 0 : late);

        total += used;
        assert_true(used <= BUDGET + LATENCY);
        assert_true(total <= n * BUDGET + LATENCY);
        assert_true(window_advance(&window, &usual, used, START + n * TICKS));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(first_window_has_the_budget, open_first),
        cmocka_unit_test_setup(nothing_ends_before_the_end, open_first),
        cmocka_unit_test_setup(next_window_has_the_budget_again, open_first),
        cmocka_unit_test_setup(unused_events_are_lost, open_first),
        cmocka_unit_test_setup(events_beyond_the_grant_are_paid_next, open_first),
        cmocka_unit_test_setup(large_debt_parks_for_whole_windows, open_first),
        cmocka_unit_test_setup(debt_of_one_budget, open_first),
        cmocka_unit_test_setup(late_call_keeps_the_ends, open_first),
        cmocka_unit_test_setup(missed_windows_pay, open_first),
        cmocka_unit_test_setup(closed_window_stays_closed, open_first),
        cmocka_unit_test_setup(largest_values, open_first),
        cmocka_unit_test_setup(no_sequence_has_more, open_first),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
