/* SPDX-License-Identifier: BSD-2-Clause */
/* A driver that fails all the time is reported once in an interval. */
#include "backend_test.h"

#include "backend/failure_report.h"

#define START (UINT64_MAX - 5 * SECOND) /* the time wraps */

static void test_first_failure(void **state)
{
    struct failure_report report = {0};
    uint64_t left_out = 1;

    (void)state;
    assert_true(failure_report_is_due(&report, 0, &left_out));
    assert_int_equal(left_out, 0);
}

static void test_interval(void **state)
{
    struct failure_report report = {0};
    uint64_t left_out = 0;

    (void)state;
    assert_true(failure_report_is_due(&report, START, &left_out));
    for (uint64_t i = 0; i < 1000; i++) {
        assert_false(failure_report_is_due(&report, START + i, &left_out));
    }
    assert_false(failure_report_is_due(&report, START + FAILURE_REPORT_INTERVAL_NS - 1, &left_out));
    assert_true(failure_report_is_due(&report, START + FAILURE_REPORT_INTERVAL_NS, &left_out));
    assert_int_equal(left_out, 1001);
    assert_true(failure_report_is_due(&report, START + 2 * FAILURE_REPORT_INTERVAL_NS, &left_out));
    assert_int_equal(left_out, 0);
}

static void test_seldom_failures(void **state)
{
    struct failure_report report = {0};
    uint64_t left_out = 0;

    (void)state;
    for (uint64_t i = 0; i < 100; i++) {
        assert_true(failure_report_is_due(&report, i * FAILURE_REPORT_INTERVAL_NS, &left_out));
        assert_int_equal(left_out, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_first_failure),
        cmocka_unit_test(test_interval),
        cmocka_unit_test(test_seldom_failures),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
