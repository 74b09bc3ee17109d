/* SPDX-License-Identifier: BSD-2-Clause */
/* The control loop's periods (apps/control): when turns are due, and which come too late. */
#include "../../apps/control/periods.h"
#include "kernel_fixture.h"

#define PERIOD UINT64_C(1000)

static void init_turns(void)
{
    struct periods periods;
    uint64_t begin = time_now();

    periods_begin(&periods, PERIOD);
    for (uint64_t turn = 1; turn <= 5; turn++) {
        periods_wait(&periods);
        CHECK_EQUAL(time_now(), begin + turn * PERIOD);
        CHECK_EQUAL(periods.count, turn);
    }
    CHECK_EQUAL(periods.missed, 0);
    CHECK_EQUAL(periods.worst, 0);
}

static void test_turns_come_at_points_in_time(void **state)
{
    (void)state;
    kernel_run(init_turns);
}

static void init_late(void)
{
    struct periods periods;
    uint64_t begin = time_now();

    periods_begin(&periods, PERIOD);
    host_clock_advance(2 * PERIOD - 1);
    periods_wait(&periods);
    CHECK_EQUAL(periods.worst, PERIOD - 1);
    CHECK_EQUAL(periods.missed, 0);
    host_clock_advance(3 * PERIOD + 1);
    periods_wait(&periods); /* due at 2, now it is 5 */
    CHECK_EQUAL(periods.worst, 3 * PERIOD);
    CHECK_EQUAL(periods.missed, 1);
    for (unsigned turn = 3; turn <= 5; turn++) { /* 3 and 4 are missed, 5 is due right now */
        periods_wait(&periods);
    }
    CHECK_EQUAL(periods.missed, 3);
    CHECK_EQUAL(periods.worst, 3 * PERIOD);
    periods_wait(&periods);
    CHECK_EQUAL(time_now(), begin + 6 * PERIOD);
    CHECK_EQUAL(periods.count, 6);
    CHECK_EQUAL(periods.missed, 3);
}

static void test_a_turn_is_missed_when_the_next_is_due(void **state)
{
    (void)state;
    kernel_run(init_late);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_turns_come_at_points_in_time),
        cmocka_unit_test(test_a_turn_is_missed_when_the_next_is_due),
    };

    return cmocka_run_group_tests_name("periods", tests, NULL, NULL);
}
