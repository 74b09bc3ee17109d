/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * description_check() of the images without listed interrupts: a VCPU that has its core alone has
 * no times. The boot refuses VCPUs that share a core, whatever their times are.
 */
#include "description_fixture.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

static const char *problem_of(struct description *description)
{
    struct description_problem problem = {NULL, 0, 0};

    description_seal(description);
    if (description_check(description, DESCRIPTION_ROOM, &problem)) {
        return NULL;
    }
    assert_int_equal(problem.partition, 1);
    assert_int_equal(problem.value, 2);
    return problem.text;
}

static void test_vcpu_with_its_own_core_has_no_times(void **state)
{
    static const char has_times[] = "times of a VCPU that does not share core";
    struct description description;
    struct description_vcpu *vcpu = &description.partitions[1].vcpus[1];
    struct description_vcpu none;

    (void)state;
    description_make(&description);
    none = *vcpu;
    assert_null(problem_of(&description));
    vcpu->budget = UINT64_C(1) << 63;
    assert_string_equal(problem_of(&description), has_times);
    *vcpu = none;
    vcpu->period = 1;
    assert_string_equal(problem_of(&description), has_times);
    *vcpu = none;
    vcpu->weight = 1;
    assert_string_equal(problem_of(&description), has_times);
    *vcpu = none;
    vcpu->io = 1;
    assert_string_equal(problem_of(&description), has_times);
    *vcpu = none;
    description.cores[2].quantum = DESCRIPTION_QUANTUM_MIN;
    assert_string_equal(problem_of(&description), has_times);
}

static void test_vcpus_that_share_a_core_are_left_to_the_boot(void **state)
{
    struct description description;

    (void)state;
    description_make_shared(&description);
    assert_null(problem_of(&description));
    description.partitions[1].vcpus[0].period = 0;
    assert_null(problem_of(&description));
    description_make_weighted(&description);
    assert_null(problem_of(&description));
}

static void test_vcpu_that_does_not_say_that_it_shares_a_core(void **state)
{
    struct description description;
    struct description_problem problem = {NULL, 0, 0};

    (void)state;
    description_make_shared(&description);
    description.partitions[1].vcpus[0] = (struct description_vcpu){.core = 0};
    description_seal(&description);
    assert_false(description_check(&description, DESCRIPTION_ROOM, &problem));
    assert_string_equal(problem.text, "a VCPU has no core that it may use: core");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vcpu_with_its_own_core_has_no_times),
        cmocka_unit_test(test_vcpus_that_share_a_core_are_left_to_the_boot),
        cmocka_unit_test(test_vcpu_that_does_not_say_that_it_shares_a_core),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
