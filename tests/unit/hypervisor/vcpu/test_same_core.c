/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the VCPUs that a partition has on one core, and the addresses of their Redistributors. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "gic/redistributor.h"
#include "vcpu/same_core.h"

#define STEP 0x20000u

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
    partition = (struct partition){
        .constant = {.system = &described, .described = &described.partitions[0]}};
    vcpu = (struct vcpu){.partition = &partition, .shared = (struct shared_vcpu *)&described};
    return 0;
}

static void test_vcpus_on_same_core(void **state)
{
    (void)state;
    assert_int_equal(vcpus_on_same_core(&vcpu), 1u << 0 | 1u << 3);
    vcpu.processor = 1;
    assert_int_equal(vcpus_on_same_core(&vcpu), 1u << 1 | 1u << 2);
    described.partitions[0].vcpu_count = 2;
    assert_int_equal(vcpus_on_same_core(&vcpu), 1u << 1);
    vcpu.shared = NULL;
    assert_int_equal(vcpus_on_same_core(&vcpu), 0);
}

static void test_frames(void **state)
{
    (void)state;
    assert_int_equal(redistributor_guest_address(&described, 0), 0x80a0000);
    assert_int_equal(redistributor_guest_address(&described, 1), 0x9000000);
    assert_int_equal(redistributor_guest_address(&described, 2), 0x9000000 + STEP);
    assert_int_equal(redistributor_guest_address(&described, 15), 0x9000000 + 14 * STEP);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_vcpus_on_same_core, setup),
        cmocka_unit_test_setup(test_frames, setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
