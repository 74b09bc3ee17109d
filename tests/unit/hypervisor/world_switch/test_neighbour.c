/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A VCPU accesses the SGI frame of another VCPU of its core, which does not execute. Both keep all
 * of their list registers, although ICH_ELRSR_EL2 shows a change of one only after a context
 * synchronization event, and writes to the GIC arrive late.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "gic/list_register.h"
#include "gic/redistributor.h"
#include "gic/remote_access.h"
#include "gic/sgi.h"
#include "gic/system_registers.h"
#include "scheduler/core.h"
#include "unit/hypervisor/gic/machine.h"
#include "unit/hypervisor/gic/slow.h"
#include <devices/gic_registers.h>
#include <string.h>

#define CORE    1u
#define PENDING 3u /* an SGI of the neighbour */
#define ENABLED (1u << PENDING)

static struct machine made;
static struct processor processor;
static struct shared_core core;
static struct shared_vcpu own_state, its_state;
static struct vcpu neighbour;

uint64_t fake_register(const char *name)
{
    return strcmp(name, "tpidr_el2") == 0 ? (uintptr_t)&processor : 0;
}

static int setup(void **state)
{
    (void)state;
    machine_reset(&made);
    made.guarded = false;
    made.gic.is_late = true;
    memset(&processor, 0, sizeof(processor));
    memset(&core, 0, sizeof(core));
    memset(&own_state, 0, sizeof(own_state));
    memset(&its_state, 0, sizeof(its_state));
    machine_partition.constant.is_listed = true;
    machine_system.partitions[0].vcpus[0].core = CORE;
    machine_system.partitions[0].vcpus[1].core = CORE;
    neighbour = (struct vcpu){.partition = &machine_partition, .number = 1, .shared = &its_state};
    machine_vcpu.shared = &own_state;
    machine_vcpu.next = &neighbour;
    processor.vcpu = processor.vcpus = &machine_vcpu;
    processor.shared = &core;
    core.interrupts = interrupt_resources(&machine_vcpu);
    its_state.has_executed = true;
    return 0;
}

static uint64_t read_of_neighbour(uint32_t offset)
{
    struct access access = {.offset = offset, .bytes = 4};

    interface_synchronize(); /* the trap */
    assert_int_equal(remote_access_vcpu(&machine_vcpu, 1, &access), ACCESS_DONE);
    return access.value;
}

static void test_list_registers_are_kept(void **state)
{
    const uint64_t own = list_register(40, 0x40, LIST_ACTIVE);

    (void)state;
    for (unsigned i = 0; i < INTERFACE_LISTS; i++) {
        uint64_t its = list_register(PENDING, 0x20, LIST_PENDING);

        (void)setup(state);
        its_state.interrupts.used = 1u << i;
        its_state.interrupts.lists[i] = its;
        its_state.interrupts.enabled = ENABLED;
        gic_registers_list(0, own);
        for (unsigned round = 0; round < 3; round++) {
            assert_int_equal(read_of_neighbour(GIC_ISENABLER), ENABLED);
            assert_int_equal(read_of_neighbour(GIC_ISPENDR), 1u << PENDING);
            assert_int_equal(its_state.interrupts.used, 1u << i);
            assert_int_equal(its_state.interrupts.lists[i], its);
            assert_int_equal(gic_registers_listed(0), own);
        }
    }
}

/* Returns the number of polls since the last call, and whether a wait was in vain: then the
 * partition is stopped, as for a device that does not answer. */
static unsigned polls(bool *is_unsettled)
{
    unsigned count = made.gic.control_reads;

    *is_unsettled = processor.device_syndrome == SYNDROME_UNKNOWN_REASON;
    assert_int_equal(processor.device_address != 0, *is_unsettled);
    processor.device_syndrome = processor.device_address = 0;
    made.gic.control_reads = 0;
    return count;
}

static void check_polls(unsigned expected, bool expected_unsettled)
{
    bool is_unsettled;

    assert_int_equal(polls(&is_unsettled), expected);
    assert_int_equal(is_unsettled, expected_unsettled);
}

/* A wait that is not in a change finds RWP clear: the GIC does not count as stuck any more. */
static void settle(void)
{
    struct access access = {.offset = GIC_ICENABLER, .bytes = 4, .write = true};

    made.gic.settling_reads = 0;
    access.value = 1;
    interface_synchronize(); /* the trap */
    assert_int_equal(redistributor_access_own(&machine_vcpu, &access), ACCESS_DONE);
    made.gic.control_reads = 0;
}

static void save(void)
{
    interface_synchronize(); /* by fault_of_device() */
    (void)interrupts_save(&core.interrupts, &machine_vcpu, &own_state.interrupts);
}

/* A GIC that takes long until a write that disables interrupts has taken effect. A change between
 * VCPUs waits for it once, an access to a neighbour twice. */
static void test_slow_gic(void **state)
{
    for (unsigned k = 0; k < SLOW_CASES; k++) {
        unsigned reads = slow_cases[k];
        bool settles = reads <= SLOW_POLLS;

        (void)setup(state);
        settle();
        save();
        check_polls(1, false);
        made.gic.settling_reads = reads;
        save();
        check_polls(settles ? reads + 1 : 1 + SLOW_POLLS, !settles);
        made.gic.settling_reads = 0;
        save();
        check_polls(1, false);
        settle();
        made.gic.settling_reads = reads;
        (void)read_of_neighbour(GIC_ISENABLER);
        check_polls(settles ? 2 * (reads + 1) : 2 + SLOW_POLLS + SLOW_POLLS_STUCK, !settles);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_slow_gic, setup),
        cmocka_unit_test_setup(test_list_registers_are_kept, setup),
    };

    return cmocka_run_group_tests_name("neighbour", tests, NULL, NULL);
}
