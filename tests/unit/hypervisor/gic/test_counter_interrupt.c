/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests who has the interrupt of the performance monitors, and the CPU interface of a guest that is
 * held. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "gic/counter_interrupt.h"
#include "gic/direct.h"
#include "gic/held_guest.h"
#include "gic/internal.h"
#include "machine.h"
#include <devices/gic_registers.h>

#define COUNTERS  (UINT32_C(1) << 23)
#define SGI_FRAME GIC_FRAME_BYTES

static struct machine made;

static int setup(void **state)
{
    (void)state;
    machine_reset(&made);
    return 0;
}

static struct gic_bank *bank(void)
{
    return &made.gic.redistributors[1].bank; /* of VCPU 0 */
}

static void limit(void)
{
    machine_system.partitions[0].bandwidth.events = 1000;
}

static void guest_has_it_without_a_limit(void **state)
{
    (void)state;
    made.guarded = true;
    assert_int_equal(*gic_guest_interrupts(&machine_partition), PRIVATE_GUEST);
    (void)machine_redistributor_access(0, WRITE(SGI_FRAME + GIC_ISENABLER, 4, COUNTERS),
                                       ACCESS_DONE);
    assert_int_equal(bank()->enabled[0], COUNTERS);
}

static void guest_has_none_with_a_limit(void **state)
{
    static const uint64_t registers[] = {GIC_IGROUPR,   GIC_ISENABLER, GIC_ICENABLER,
                                         GIC_ISPENDR,   GIC_ICPENDR,   GIC_ISACTIVER,
                                         GIC_ICACTIVER, GIC_ICFGR + 4, GIC_IPRIORITYR + 20};

    (void)state;
    limit();
    bank()->enabled[0] = bank()->pending[0] = bank()->active[0] = COUNTERS;
    bank()->priorities[23] = 0;
    for (size_t i = 0; i < sizeof(registers) / sizeof(registers[0]); i++) {
        uint64_t register_of = SGI_FRAME + registers[i];
        uint64_t read;

        (void)machine_redistributor_access(0, WRITE(register_of, 4, UINT32_MAX), ACCESS_REFUSED);
        read = machine_redistributor_access(0, READ(register_of, 4), ACCESS_DONE);
        assert_int_equal(registers[i] == GIC_IPRIORITYR + 20 ? read >> 24 : read & COUNTERS, 0);
    }
    assert_int_equal(bank()->enabled[0] & COUNTERS, COUNTERS);
    assert_int_equal(bank()->groups[0] & COUNTERS, 0);
    assert_int_equal(bank()->priorities[23], 0);
}

static void hypervisor_takes_it(void **state)
{
    (void)state;
    limit();
    bank()->groups[0] = PRIVATE_GUEST;
    bank()->priorities[23] = PRIORITY_USUAL;
    bank()->enabled[0] = 1u << GIC_OWN_TIMER;
    assert_true(gic_take_counter_interrupt(&machine_vcpu));
    assert_int_equal(bank()->groups[0], PRIVATE_GUEST & ~COUNTERS);
    assert_int_equal(bank()->priorities[23], PRIORITY_OWN);
    assert_int_equal(bank()->enabled[0], 1u << GIC_OWN_TIMER | COUNTERS);
}

static void direct_guest_is_held(void **state)
{
    uint64_t held;

    (void)state;
    direct_set_mask(&machine_vcpu, 0xf0);
    made.active = 1; /* feigned */
    held = gic_hold_guest(&machine_vcpu);
    assert_int_equal(made.interface.mask, PRIORITY_MASK_OWN);
    assert_int_equal(made.active, 0);
    gic_release_guest(&machine_vcpu, held);
    assert_int_equal(made.interface.mask, 0xf0);
    assert_int_equal(made.active, 1);
}

/* The masks of listed interrupts change while the guest waits. */
static void listed_guest_is_not(void **state)
{
    uint64_t held;

    (void)state;
    machine_partition.constant.is_listed = true;
    made.interface.mask = 0xa0;
    made.active = 1;
    held = gic_hold_guest(&machine_vcpu);
    assert_int_equal(made.interface.mask, 0xa0);
    made.interface.mask = PRIORITY_MASK_OPEN;
    gic_release_guest(&machine_vcpu, held);
    assert_int_equal(made.interface.mask, PRIORITY_MASK_OPEN);
    assert_int_equal(made.active, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(guest_has_it_without_a_limit, setup),
        cmocka_unit_test_setup(guest_has_none_with_a_limit, setup),
        cmocka_unit_test_setup(hypervisor_takes_it, setup),
        cmocka_unit_test_setup(direct_guest_is_held, setup),
        cmocka_unit_test_setup(listed_guest_is_not, setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
