/* SPDX-License-Identifier: BSD-2-Clause */
/* Admission when the analysis may take one step: what it can't decide it does not admit. */
#include "schedule/admission.h"
#include "schedule_test.h"

#define MAIN(c, t) {.kind = ADMISSION_MAIN, .budget = (c), .period = (t)}

static struct admission_response responses[4];
static struct admission_result result;

static void test_undecided_is_refused(void **state)
{
    const struct admission_vcpu set[] = {MAIN(1, 2), MAIN(1, 3), MAIN(1, 7)};

    (void)state;
    assert_int_equal(ADMISSION_STEPS_MAX, 1);
    assert_int_equal(admission_test(set, 3, responses, &result), SCHEDULE_UNDECIDED);
    assert_int_equal(result.vcpu, 2);
    assert_true(responses[2].ticks == SCHEDULE_NEVER);
    assert_true(responses[0].ticks == 1);
    assert_true(responses[1].ticks == 2);
}

/* The demand in the whole period fits, so the response is within it. */
static void test_demand_of_the_period_decides(void **state)
{
    const struct admission_vcpu set[] = {MAIN(1, 2), MAIN(1, 3), MAIN(1, 8)};

    (void)state;
    assert_false(admission_quick_test(set, 3));
    assert_int_equal(admission_test(set, 3, responses, &result), SCHEDULE_OK);
    assert_true(responses[2].ticks == 8);
}

/* The quick test needs no steps; the demand of the whole period, 13, would not fit. */
static void test_quick_test_decides(void **state)
{
    const struct admission_vcpu set[] = {MAIN(1, 3), MAIN(3, 9), MAIN(1, 10)};

    (void)state;
    assert_true(admission_quick_test(set, 3));
    assert_int_equal(admission_test(set, 3, responses, &result), SCHEDULE_OK);
    assert_true(responses[2].ticks == 10 && responses[2].excess == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_undecided_is_refused),
        cmocka_unit_test(test_demand_of_the_period_decides),
        cmocka_unit_test(test_quick_test_decides),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
