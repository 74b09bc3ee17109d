/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the SPIs of functions that move, on the model of the GIC. A write to another SPI ends the
 * test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "gic/moved.h"
#include "hypervisor/processor.h"
#include "machine.h"
#include <devices/gic_registers.h>

#define MOVED 63u /* the first partition's */
#define BIT   (UINT32_C(1) << MOVED % 32)

static struct machine made;
static struct processor processor;

uint64_t fake_register(const char *name)
{
    (void)name;
    return (uint64_t)(uintptr_t)&processor;
}

static int setup(void **state)
{
    (void)state;
    machine_reset(&made);
    made.gic.control = GICD_CTLR_AFFINITY_ROUTING | GICD_CTLR_GROUP0 | GICD_CTLR_GROUP1;
    made.guarded = true;
    processor = (struct processor){.vcpu = &machine_vcpu};
    machine_partition.atomic.power[0].state = VCPU_ON;
    made.gic.distributor.enabled[1] = made.gic.distributor.pending[1] =
        made.gic.distributor.active[1] = UINT32_MAX;
    return 0;
}

static void expect_silence(void)
{
    const uint32_t others = ~BIT;

    assert_int_equal(made.gic.distributor.enabled[1], others);
    assert_int_equal(made.gic.distributor.pending[1], others);
    assert_int_equal(made.gic.distributor.active[1], others);
}

static void leaves_a_guest_that_executes(void **state)
{
    (void)state;
    assert_int_equal(gic_release_interrupt(&machine_vcpu, MOVED), STEP_DONE);
    expect_silence();
}

static void leaves_a_guest_that_is_off(void **state)
{
    (void)state;
    machine_partition.atomic.power[0].state = VCPU_OFF;
    processor.vcpu = NULL; /* another one executes */
    assert_int_equal(gic_release_interrupt(&machine_vcpu, MOVED), STEP_DONE);
    expect_silence();
}

/* The list registers of the core are those of another VCPU. */
static void waits_for_its_vcpu(void **state)
{
    (void)state;
    processor.vcpu = NULL;
    assert_int_equal(gic_release_interrupt(&machine_vcpu, MOVED), STEP_PENDING);
    assert_int_equal(made.gic.distributor.enabled[1], UINT32_MAX);
}

static void is_taken_and_routed(void **state)
{
    (void)state;
    assert_true(gic_take_interrupt(&machine_partition, MOVED));
    expect_silence();
    assert_int_equal(made.gic.routes[MOVED],
                     machine_system.cores[machine_system.partitions[0].vcpus[0].core].affinity);
    assert_int_not_equal(machine_partition.atomic.changes.listable[1] & BIT, 0);
}

/* As after the reset of its partition, which had it, and after an arrival while another VCPU
 * executed. */
static void is_not_listed_any_more(void **state)
{
    (void)state;
    machine_partition.atomic.changes.listable[1] = machine_vcpu.list.aside[1] = UINT32_MAX;
    gic_lose_interrupt(&machine_vcpu, MOVED);
    assert_int_equal(machine_partition.atomic.changes.listable[1], ~BIT);
    assert_int_equal(machine_vcpu.list.aside[1], ~BIT);
    assert_int_equal(made.gic.distributor.active[1], UINT32_MAX); /* that is its next owner's */
}

static void gic_does_not_settle(void **state)
{
    (void)state;
    made.gic.never_settles = true;
    assert_int_equal(gic_release_interrupt(&machine_vcpu, MOVED), STEP_FAILED);
    assert_false(gic_take_interrupt(&machine_partition, MOVED));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(leaves_a_guest_that_executes, setup),
        cmocka_unit_test_setup(leaves_a_guest_that_is_off, setup),
        cmocka_unit_test_setup(waits_for_its_vcpu, setup),
        cmocka_unit_test_setup(is_taken_and_routed, setup),
        cmocka_unit_test_setup(is_not_listed_any_more, setup),
        cmocka_unit_test_setup(gic_does_not_settle, setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
