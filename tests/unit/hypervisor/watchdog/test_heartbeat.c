/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests when a heartbeat is looked at, and which looks are an error. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "watchdog/heartbeat.h"

static const struct heartbeat_limits usual = {.period = 100};
static const struct heartbeat_limits with_start = {.period = 100, .start = 250};
static struct heartbeat heartbeat;

static void no_look_before_the_guest_starts(void **state)
{
    (void)state;
    heartbeat = (struct heartbeat){.next = 0};
    assert_false(heartbeat_look(&heartbeat, &usual, 0, UINT64_MAX));
}

/* Without a start limit the guest may take any time for its first beat. */
static void first_beat_arms(void **state)
{
    (void)state;
    heartbeat_begin(&heartbeat, &usual, 7, 1000);
    for (uint64_t now = 1100; now <= 2000; now += 100) {
        assert_int_equal(heartbeat.next, now);
        assert_false(heartbeat_look(&heartbeat, &usual, 7, now));
    }
    assert_false(heartbeat_look(&heartbeat, &usual, 8, 2100));
    assert_true(heartbeat_look(&heartbeat, &usual, 8, 2200));
}

static void beats_go_on(void **state)
{
    (void)state;
    heartbeat_begin(&heartbeat, &usual, 0, 1000);
    for (uint64_t i = 1; i < 100; i++) {
        assert_false(heartbeat_look(&heartbeat, &usual, i, 1000 + 100 * i));
    }
    /* Any change counts: the guest may count back. */
    assert_false(heartbeat_look(&heartbeat, &usual, 3, 11000));
}

static void no_look_before_it_is_time(void **state)
{
    (void)state;
    heartbeat_begin(&heartbeat, &usual, 0, 1000);
    assert_false(heartbeat_look(&heartbeat, &usual, 1, 1100));
    assert_false(heartbeat_look(&heartbeat, &usual, 1, 1199));
    assert_int_equal(heartbeat.next, 1200);
    assert_true(heartbeat_look(&heartbeat, &usual, 1, 1200));
}

/* The period after a late look is as long as any other. */
static void late_look(void **state)
{
    (void)state;
    heartbeat_begin(&heartbeat, &usual, 0, 1000);
    assert_false(heartbeat_look(&heartbeat, &usual, 1, 1170));
    assert_int_equal(heartbeat.next, 1270);
}

static void an_interruption_is_reported_once(void **state)
{
    (void)state;
    heartbeat_begin(&heartbeat, &usual, 0, 1000);
    assert_false(heartbeat_look(&heartbeat, &usual, 1, 1100));
    assert_true(heartbeat_look(&heartbeat, &usual, 1, 1200));
    assert_false(heartbeat_look(&heartbeat, &usual, 1, 1300));
    assert_false(heartbeat_look(&heartbeat, &usual, 2, 1400));
    assert_true(heartbeat_look(&heartbeat, &usual, 2, 1500));
}

static void first_beat_is_overdue(void **state)
{
    (void)state;
    heartbeat_begin(&heartbeat, &with_start, 0, 1000);
    assert_false(heartbeat_look(&heartbeat, &with_start, 0, 1100));
    assert_false(heartbeat_look(&heartbeat, &with_start, 0, 1200));
    assert_int_equal(heartbeat.next, 1250);
    assert_true(heartbeat_look(&heartbeat, &with_start, 0, 1250));
    assert_int_equal(heartbeat.next, 1350);
    assert_false(heartbeat_look(&heartbeat, &with_start, 0, 1350));
}

static void first_beat_is_in_time(void **state)
{
    (void)state;
    heartbeat_begin(&heartbeat, &with_start, 0, 1000);
    assert_false(heartbeat_look(&heartbeat, &with_start, 0, 1100));
    assert_false(heartbeat_look(&heartbeat, &with_start, 1, 1200));
    assert_int_equal(heartbeat.next, 1300); /* the start limit is over */
    assert_false(heartbeat_look(&heartbeat, &with_start, 2, 1300));
    assert_true(heartbeat_look(&heartbeat, &with_start, 2, 1400));
}

/* The first beat comes between the last look and the limit. */
static void first_beat_at_the_last_moment(void **state)
{
    (void)state;
    heartbeat_begin(&heartbeat, &with_start, 0, 1000);
    assert_false(heartbeat_look(&heartbeat, &with_start, 1, 1260));
    assert_int_equal(heartbeat.next, 1360);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(no_look_before_the_guest_starts),
        cmocka_unit_test(first_beat_arms),
        cmocka_unit_test(beats_go_on),
        cmocka_unit_test(no_look_before_it_is_time),
        cmocka_unit_test(late_look),
        cmocka_unit_test(an_interruption_is_reported_once),
        cmocka_unit_test(first_beat_is_overdue),
        cmocka_unit_test(first_beat_is_in_time),
        cmocka_unit_test(first_beat_at_the_last_moment),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
