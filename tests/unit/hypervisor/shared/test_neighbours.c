/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests what is known of the VCPUs that a partition has on one core, and of routes to them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "hypervisor/neighbours.h"
#include "hypervisor/routes.h"

#define FIRST 32u
#define LAST  1019u
#define STEP  0x20000u

static struct description described;
static struct partition partition;
static struct vcpu vcpu;

static int setup(void **state)
{
    (void)state;
    described = (struct description){.core_count = 2};
    described.cores[0].redistributor = 0x80a0000;
    described.cores[1].redistributor = 0x9000000;
    described.partitions[0] = (struct description_partition){
        .vcpu_count = 4,
        .vcpus = {{.core = 0}, {.core = 1}, {.core = 1}, {.core = 0}},
    };
    partition = (struct partition){.system = &described, .described = &described.partitions[0]};
    vcpu = (struct vcpu){.partition = &partition};
    return 0;
}

static void test_neighbours(void **state)
{
    (void)state;
    assert_int_equal(neighbours_of(&vcpu), 1u << 0 | 1u << 3);
    vcpu.processor = 1;
    assert_int_equal(neighbours_of(&vcpu), 1u << 1 | 1u << 2);
    described.partitions[0].vcpu_count = 2;
    assert_int_equal(neighbours_of(&vcpu), 1u << 1);
}

static void test_frames(void **state)
{
    (void)state;
    assert_int_equal(neighbours_frames(&described, 0), 0x80a0000);
    assert_int_equal(neighbours_frames(&described, 1), 0x9000000);
    assert_int_equal(neighbours_frames(&described, 2), 0x9000000 + STEP);
    assert_int_equal(neighbours_frames(&described, 15), 0x9000000 + 14 * STEP);
}

static void test_routes_are_apart(void **state)
{
    (void)state;
    for (uint32_t number = FIRST; number <= LAST; number++) {
        routes_set(&partition, number, number % DESCRIPTION_VCPUS_MAX);
    }
    for (uint32_t number = FIRST; number <= LAST; number++) {
        assert_int_equal(routes_vcpu(&partition, number), number % DESCRIPTION_VCPUS_MAX);
    }
    routes_set(&partition, LAST, 15);
    routes_set(&partition, LAST, 0);
    assert_int_equal(routes_vcpu(&partition, LAST), 0);
    assert_int_equal(routes_vcpu(&partition, LAST - 1), (LAST - 1) % DESCRIPTION_VCPUS_MAX);
}

static void test_a_route_is_to_one_vcpu(void **state)
{
    (void)state;
    vcpu.number = 3;
    assert_false(routes_are_to(&vcpu, FIRST));
    routes_set(&partition, FIRST, 3);
    assert_true(routes_are_to(&vcpu, FIRST));
    assert_false(routes_are_to(&vcpu, FIRST + 1));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_neighbours, setup),
        cmocka_unit_test_setup(test_frames, setup),
        cmocka_unit_test_setup(test_routes_are_apart, setup),
        cmocka_unit_test_setup(test_a_route_is_to_one_vcpu, setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
