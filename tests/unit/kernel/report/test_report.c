/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the report directory. */
#include "kernel/report.h"

#include "kernel_fixture.h"

static const char first[100], second[200];

static void init_publish(void)
{
    report_publish(REPORT_VCPUS, 3, first, sizeof(first));
    CHECK_EQUAL(report_directory.count, 1);
    report_publish(REPORT_TRACE, 1, second, sizeof(second));
    CHECK_EQUAL(report_directory.count, 2);
    CHECK_EQUAL(report_directory.reports[0].kind, REPORT_VCPUS);
    CHECK_EQUAL(report_directory.reports[0].version, 3);
    CHECK_EQUAL(report_directory.reports[0].address, (uintptr_t)first);
    CHECK_EQUAL(report_directory.reports[0].bytes, sizeof(first));
    CHECK_EQUAL(report_directory.reports[1].kind, REPORT_TRACE);
}

static void init_replace(void)
{
    report_publish(REPORT_VCPUS, 4, second, sizeof(second));
    CHECK_EQUAL(report_directory.count, 2);
    CHECK_EQUAL(report_directory.reports[0].version, 4);
    CHECK_EQUAL(report_directory.reports[0].address, (uintptr_t)second);
}

static void init_fill(void)
{
    for (unsigned kind = 100; kind <= 100 + REPORTS_MAX; kind++) {
        /* A kind that is none. NOLINTNEXTLINE(clang-analyzer-optin.core.EnumCastOutOfRange) */
        report_publish((enum report_kind)kind, 1, first, 1);
    }
}

static void test_reports_are_listed(void **state)
{
    (void)state;
    assert_true(report_directory.magic == REPORT_MAGIC);
    assert_int_equal(report_directory.report_bytes, sizeof(struct report));
    kernel_run(init_publish);
    kernel_run(init_replace);
}

/* Last: it fills the directory. */
static void test_too_many(void **state)
{
    (void)state;
    kernel_panics(init_fill, "more than 8 reports");
    assert_int_equal(report_directory.count, REPORTS_MAX);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_reports_are_listed),
        cmocka_unit_test(test_too_many),
    };

    return cmocka_run_group_tests_name("report", tests, NULL, NULL);
}
