/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the routes of SPIs to the VCPUs of a partition. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "distributor/route.h"

#define FIRST 32u
#define LAST  1019u

static struct partition partition;
static struct vcpu vcpu;

static int setup(void **state)
{
    (void)state;
    partition = (struct partition){.constant.shares_cores = true};
    vcpu = (struct vcpu){.partition = &partition};
    return 0;
}

static void test_routes_are_apart(void **state)
{
    (void)state;
    for (uint32_t number = FIRST; number <= LAST; number++) {
        route_set(&partition, number, number % DESCRIPTION_VCPUS_MAX);
    }
    for (uint32_t number = FIRST; number <= LAST; number++) {
        assert_int_equal(route_vcpu(&partition, number), number % DESCRIPTION_VCPUS_MAX);
    }
    route_set(&partition, LAST, 15);
    route_set(&partition, LAST, 0);
    assert_int_equal(route_vcpu(&partition, LAST), 0);
    assert_int_equal(route_vcpu(&partition, LAST - 1), (LAST - 1) % DESCRIPTION_VCPUS_MAX);
}

static void test_a_route_is_to_one_vcpu(void **state)
{
    (void)state;
    vcpu.number = 3;
    assert_false(route_is_to(&vcpu, FIRST));
    route_set(&partition, FIRST, 3);
    assert_true(route_is_to(&vcpu, FIRST));
    assert_false(route_is_to(&vcpu, FIRST + 1));
}

static void test_all_interrupts_are_for_a_vcpu_with_its_own_core(void **state)
{
    (void)state;
    partition.constant.shares_cores = false;
    vcpu.number = 3;
    assert_true(route_is_to(&vcpu, FIRST));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_routes_are_apart, setup),
        cmocka_unit_test_setup(test_a_route_is_to_one_vcpu, setup),
        cmocka_unit_test_setup(test_all_interrupts_are_for_a_vcpu_with_its_own_core, setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
