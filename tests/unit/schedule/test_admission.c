/* SPDX-License-Identifier: BSD-2-Clause */
/* Admission by examples; tests/unit/schedule/test_admission.py compares it with other analyses. */
#include "schedule/admission.h"
#include "schedule_test.h"

#define MAIN(c, t)         {.kind = ADMISSION_MAIN, .budget = (c), .period = (t)}
#define IO(c, t)           {.kind = ADMISSION_IO, .budget = (c), .period = (t)}
#define IO_OF_PERIOD(c, t) {.kind = ADMISSION_IO_OF_PERIOD, .budget = (c), .period = (t)}
#define COUNT(set)         (sizeof(set) / sizeof((set)[0]))

static struct admission_response responses[ADMISSION_VCPUS_MAX];
static struct admission_result result;

static void check_response(unsigned vcpu, uint64_t ticks, uint64_t deadline, uint64_t excess)
{
    assert_true(responses[vcpu].ticks == ticks);
    assert_true(responses[vcpu].deadline == deadline);
    assert_true(responses[vcpu].excess == excess);
}

/* Utilization 0.90 against the bound's 0.757, and admitted by its responses. */
static void test_exact_analysis_admits_more(void **state)
{
    const struct admission_vcpu set[] = {MAIN(20, 100), MAIN(10, 50), MAIN(10, 40), MAIN(5, 20)};

    (void)state;
    assert_false(admission_quick_test(set, 4));
    assert_int_equal(admission_test(set, 4, responses, &result), SCHEDULE_OK);
    check_response(0, 80, 100, 0);
    check_response(1, 30, 50, 0);
    check_response(2, 15, 40, 0);
    check_response(3, 5, 20, 0);
}

static void test_quick_test_at_its_bound(void **state)
{
    const struct admission_vcpu whole[] = {MAIN(7, 7)};
    const struct admission_vcpu above[] = {MAIN(500000, 1000000), MAIN(328428, 1000000)};
    const struct admission_vcpu below[] = {MAIN(500000, 1000000), MAIN(328426, 1000000)};

    (void)state;
    assert_true(admission_quick_test(whole, 1));
    assert_true(admission_quick_test(below, 2));
    assert_false(admission_quick_test(above, 2)); /* 2 (2^(1/2) - 1) = 0.8284271... */
}

static void test_ties_go_by_index(void **state)
{
    const struct admission_vcpu set[] = {MAIN(2, 10), MAIN(3, 10), MAIN(5, 10)};

    (void)state;
    assert_int_equal(admission_test(set, 3, responses, &result), SCHEDULE_OK);
    check_response(0, 2, 10, 0);
    check_response(1, 5, 10, 0);
    check_response(2, 10, 10, 0);
}

/* Two I/O VCPUs at the worst of their times: bursts at the highest priority that they can have. */
static void test_io_interference(void **state)
{
    const struct admission_vcpu set[] = {MAIN(20, 50), IO(1, 10), MAIN(10, 100)};

    (void)state;
    assert_true(admission_quick_test(set, 3));
    assert_int_equal(admission_test(set, 3, responses, &result), SCHEDULE_OK);
    check_response(0, 27, 50, 0);  /* 20 + 5 + (27 - 5) / 10 */
    check_response(2, 43, 100, 0); /* 10 + 20 + 10 + (43 - 10) / 10 */
    check_response(1, 40, 100, 0); /* 10 + 20 + 10 for the longest period */
}

/* The I/O VCPU is before its own period and all longer ones, and behind the shorter one. */
static void test_io_vcpu_of_a_period(void **state)
{
    const struct admission_vcpu set[] = {MAIN(2, 10), MAIN(20, 50), IO_OF_PERIOD(5, 50),
                                         MAIN(10, 100), IO_OF_PERIOD(1, 30)};

    (void)state;
    assert_int_equal(admission_test(set, 5, responses, &result), SCHEDULE_OK);
    check_response(0, 2, 10, 0);
    check_response(1, 38, 50, 0); /* 20 + 4 * 2 + 5 + (38 - 5) / 10 + 1 + (38 - 1) / 30 */
    check_response(2, 35, 50, 0); /* 5 + 20 + 4 * 2 + 1 + (35 - 1) / 30 */
    check_response(4, 0, 0, 0);   /* serves nobody */
}

static void test_time_that_nobody_pays(void **state)
{
    struct admission_vcpu set[] = {MAIN(20, 100), IO(1, 10), MAIN(10, 200), MAIN(4, 40)};

    (void)state;
    set[0].unpaid = 3;
    set[1].unpaid = 1;
    set[3].unpaid = 2;
    assert_int_equal(admission_test(set, 4, responses, &result), SCHEDULE_OK);
    /* Of the I/O VCPU 4, which is one of its shortest budgets, and another in part. */
    check_response(3, 4 + 4 + 2, 40, 0);
    check_response(0, 20 + 14 + 5 + 2 * (4 + 2), 100, 0);
    check_response(2, 10 + 25 + 8 + (20 + 3) + 2 * (4 + 2), 200, 0);
    check_response(1, 20 + 10 + (20 + 3) + 2 * (4 + 2), 200, 0); /* its own ends come later */
}

static void test_refusal_names_the_vcpu(void **state)
{
    const struct admission_vcpu set[] = {MAIN(4, 40), MAIN(6, 20), MAIN(10, 20), MAIN(1, 10)};

    (void)state;
    assert_int_equal(admission_test(set, 4, responses, &result), SCHEDULE_OK);
    const struct admission_vcpu more[] = {MAIN(10, 40), MAIN(8, 20), MAIN(11, 20), MAIN(1, 10)};

    assert_int_equal(admission_test(more, 4, responses, &result), SCHEDULE_OVERLOADED);
    assert_int_equal(result.vcpu, 2);
    assert_true(result.excess == 1);
    check_response(3, 1, 10, 0);
    check_response(1, 9, 20, 0);
    check_response(2, SCHEDULE_NEVER, 20, 1);
    check_response(0, SCHEDULE_NEVER, 40, 10 + 2 * (8 + 11) + 4 - 40);
}

static void test_late_response_is_the_least_solution(void **state)
{
    const struct admission_vcpu set[] = {MAIN(10, 40), MAIN(8, 20), MAIN(11, 20), MAIN(1, 10)};
    const struct admission_vcpu with_io[] = {MAIN(6, 10), IO(1, 2)};
    struct admission_vcpu slow[] = {MAIN(97, 100), MAIN(48, 101)};

    (void)state;
    assert_true(admission_late_response(NULL, set, 4, 1) == 9);
    assert_true(admission_late_response(NULL, set, 4, 2) == 30); /* 11 + 2 * 8 + 3 * 1 */
    assert_true(admission_late_response(NULL, set, 4, 0) == SCHEDULE_NEVER); /* utilization 1.3 */
    assert_true(admission_late_response(NULL, with_io, 2, 0) == 16); /* 6 + 5 + (16 - 5) / 2 */
    assert_true(admission_late_response(NULL, slow, 2, 1) == 1600);  /* 48 + 16 * 97 */
    slow[1].budget = 49; /* 1,634 are more than 16 periods */
    assert_true(admission_late_response(NULL, slow, 2, 1) == SCHEDULE_NEVER);
}

static void test_io_alone_serves_nobody(void **state)
{
    const struct admission_vcpu set[] = {IO(1, 2), IO(1, 1)};

    (void)state;
    assert_false(admission_quick_test(set, 2));
    assert_int_equal(admission_test(set, 2, responses, &result), SCHEDULE_OK);
    check_response(0, 0, 0, 0);
    assert_int_equal(admission_test(set, 0, responses, &result), SCHEDULE_OK);
}

static void test_whole_io_leaves_nothing(void **state)
{
    const struct admission_vcpu set[] = {MAIN(1, 100), IO(1, 1)};

    (void)state;
    assert_int_equal(admission_test(set, 2, responses, &result), SCHEDULE_OVERLOADED);
    assert_int_equal(result.vcpu, 0);
    assert_true(result.excess == 1);
}

static void test_limits(void **state)
{
    static struct admission_vcpu set[ADMISSION_VCPUS_MAX + 1];

    (void)state;
    for (unsigned i = 0; i < COUNT(set); i++) {
        set[i] = (struct admission_vcpu)MAIN(SCHEDULE_PERIOD_MAX / 64, SCHEDULE_PERIOD_MAX);
    }
    assert_int_equal(admission_test(set, COUNT(set), responses, &result), SCHEDULE_TOO_MANY_VCPUS);
    assert_int_equal(result.vcpu, ADMISSION_VCPUS_MAX);
    assert_int_equal(admission_test(set, ADMISSION_VCPUS_MAX, responses, &result), SCHEDULE_OK);
    check_response(63, SCHEDULE_PERIOD_MAX, SCHEDULE_PERIOD_MAX, 0);
    set[5].budget = 0;
    assert_int_equal(admission_test(set, 64, responses, &result), SCHEDULE_BUDGET_OUT_OF_RANGE);
    assert_int_equal(result.vcpu, 5);
    set[3].period++;
    assert_int_equal(admission_test(set, 64, responses, &result), SCHEDULE_PERIOD_OUT_OF_RANGE);
    assert_int_equal(result.vcpu, 3);
    for (unsigned i = 0; i < COUNT(set); i++) {
        set[i] = (struct admission_vcpu)IO(SCHEDULE_PERIOD_MAX, SCHEDULE_PERIOD_MAX);
    }
    set[0] = (struct admission_vcpu)MAIN(SCHEDULE_PERIOD_MAX, SCHEDULE_PERIOD_MAX);
    assert_int_equal(admission_test(set, 64, responses, &result), SCHEDULE_OVERLOADED);
    assert_true(result.excess == 63 * SCHEDULE_PERIOD_MAX);
}

/* Periods far apart, and a utilization near 1. */
static void test_slow_convergence(void **state)
{
    const struct admission_vcpu set[] = {MAIN(999, 1000),
                                         MAIN(UINT64_C(1) << 29, SCHEDULE_PERIOD_MAX)};
    const struct admission_vcpu more[] = {MAIN(1, 1), MAIN(1, SCHEDULE_PERIOD_MAX)};

    (void)state;
    assert_int_equal(admission_test(set, 2, responses, &result), SCHEDULE_OK);
    check_response(1, UINT64_C(536870912000), SCHEDULE_PERIOD_MAX, 0);
    assert_int_equal(admission_test(more, 2, responses, &result), SCHEDULE_OVERLOADED);
    assert_int_equal(result.vcpu, 1);
    assert_true(result.excess == 1);
}

/* Utilization 1 - 2 * 10^-8 above the VCPU: its response takes 20000 periods. */
static void test_many_periods(void **state)
{
    const struct admission_vcpu set[] = {MAIN(49999999, 50000000),
                                         MAIN(20000, SCHEDULE_PERIOD_MAX)};

    (void)state;
    assert_int_equal(admission_test(set, 2, responses, &result), SCHEDULE_OK);
    check_response(1, UINT64_C(1000000000000), SCHEDULE_PERIOD_MAX, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_exact_analysis_admits_more),
        cmocka_unit_test(test_quick_test_at_its_bound),
        cmocka_unit_test(test_ties_go_by_index),
        cmocka_unit_test(test_io_interference),
        cmocka_unit_test(test_io_vcpu_of_a_period),
        cmocka_unit_test(test_time_that_nobody_pays),
        cmocka_unit_test(test_refusal_names_the_vcpu),
        cmocka_unit_test(test_late_response_is_the_least_solution),
        cmocka_unit_test(test_io_alone_serves_nobody),
        cmocka_unit_test(test_whole_io_leaves_nothing),
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_slow_convergence),
        cmocka_unit_test(test_many_periods),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
