/* SPDX-License-Identifier: BSD-2-Clause */
/* Ratios whose products exceed 64 bits, and the limits of parameters. */
#include "schedule/ticks.h"
#include "schedule_test.h"

static void check_ratio(uint64_t value, uint64_t numerator, uint64_t denominator, uint64_t floor,
                        uint64_t ceiling)
{
    assert_true(schedule_ratio_floor(value, numerator, denominator) == floor);
    assert_true(schedule_ratio_ceiling(value, numerator, denominator) == ceiling);
}

static void test_ratio(void **state)
{
    const uint64_t large = UINT64_C(1) << 40;

    (void)state;
    check_ratio(0, 7, 3, 0, 0);
    check_ratio(7, 2, 3, 4, 5);
    check_ratio(6, 2, 3, 4, 4);
    check_ratio(large, large, large, large, large);
    check_ratio(large, large - 1, large, large - 1, large - 1);
    check_ratio(large - 1, large - 1, large, large - 2, large - 1);
    check_ratio(large, large, 3 * large, large / 3, large / 3 + 1);
    check_ratio(UINT64_MAX, 1, 1, UINT64_MAX, UINT64_MAX);
    check_ratio(UINT64_MAX, 3, 4, UINT64_MAX / 4 * 3 + 2, UINT64_MAX / 4 * 3 + 3);
    check_ratio(UINT64_MAX, 2, 1, UINT64_MAX, UINT64_MAX);
    check_ratio(large << 10, large << 10, 3, UINT64_MAX, UINT64_MAX);
}

/* Products of more than 64 bits have no remainder of value * d / d, and one of (value * d + r) / d.
 */
static void test_wide_ratios_are_exact(void **state)
{
    uint64_t random = 1;

    (void)state;
    for (unsigned i = 0; i < 20000; i++) {
        uint64_t numerator = random_between(&random, 1, SCHEDULE_PERIOD_MAX);
        uint64_t factor = random_between(&random, 1, UINT64_C(1) << 20);
        uint64_t value = random_between(&random, 1, UINT64_C(1) << 40) * factor;
        uint64_t part = value / factor * numerator; /* exact modulo 2^64 */
        uint64_t quotient = schedule_ratio_floor(value, numerator, factor);

        if (quotient != UINT64_MAX) {
            assert_true(quotient == part);
            assert_true(schedule_ratio_ceiling(value, numerator, factor) == part);
        }
        check_ratio(value, SCHEDULE_PERIOD_MAX, SCHEDULE_PERIOD_MAX, value, value);
    }
}

static void test_parameters(void **state)
{
    const uint64_t most = SCHEDULE_PERIOD_MAX;

    (void)state;
    assert_int_equal(schedule_check_parameters(1, 1), SCHEDULE_OK);
    assert_int_equal(schedule_check_parameters(most, most), SCHEDULE_OK);
    assert_int_equal(schedule_check_parameters(1, 0), SCHEDULE_PERIOD_OUT_OF_RANGE);
    assert_int_equal(schedule_check_parameters(1, most + 1), SCHEDULE_PERIOD_OUT_OF_RANGE);
    assert_int_equal(schedule_check_parameters(0, 10), SCHEDULE_BUDGET_OUT_OF_RANGE);
    assert_int_equal(schedule_check_parameters(11, 10), SCHEDULE_BUDGET_OUT_OF_RANGE);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ratio),
        cmocka_unit_test(test_wide_ratios_are_exact),
        cmocka_unit_test(test_parameters),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
