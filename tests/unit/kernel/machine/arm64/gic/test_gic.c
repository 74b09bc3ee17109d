/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests private and shared interrupts of the interrupt controller against a model of the
 * hardware. */
#include "fake_gic.h"
#include "gic_fixture.h"
#include "interrupt/controller.h"
#include <devices/gic_registers.h>

static void test_start_keeps_shared_settings(void **state)
{
    (void)state;
    /* Someone uses group 0: it stays on, and routing is not touched. */
    fake.gic.control = GICD_CTLR_AFFINITY_ROUTING | 1;
    fake_own()->bank.enabled[0] = 0xF0F0;
    fake_own()->bank.active[0] = 0xFF;
    fake.gic.distributor.enabled[3] = 0xFF;
    start();
    assert_int_equal(fake.gic.control, GICD_CTLR_AFFINITY_ROUTING | GICD_CTLR_GROUP1 | 1);
    assert_int_equal(fake_own()->bank.enabled[0], 0);
    assert_int_equal(fake_own()->bank.active[0], 0);
    assert_int_equal(fake.gic.distributor.enabled[3],
                     0xFF); /* shared ones are not ours until they are attached */
    assert_int_equal(fake_own()->waker, 0);
}

static void test_turns_affinity_routing_on(void **state)
{
    (void)state;
    fake.gic.control = 3; /* the fake watches the order */
    start();
    assert_int_equal(fake.gic.control, GICD_CTLR_AFFINITY_ROUTING | GICD_CTLR_GROUP1);
}

static void test_needs_system_registers(void **state)
{
    (void)state;
    fake.legacy = true;
    assert_int_equal(arch_interrupt_controller_init(), RESULT_UNSUPPORTED);
}

static void test_needs_affinity_routing(void **state)
{
    (void)state;
    fake.gic.control = 0;
    fake.gic.ignores_writes = true;
    assert_int_equal(arch_interrupt_controller_init(), RESULT_UNSUPPORTED);
}

/* A hypervisor may ignore writes, so that registers keep its settings. */
static void test_ignored_writes_are_tolerated(void **state)
{
    (void)state;
    fake.gic.control |= GICD_CTLR_GROUP1;
    fake_own()->waker = 0;
    fake.gic.ignores_writes = true;
    start();
    assert_int_equal(arch_interrupt_configure(40, INTERRUPT_EDGE), RESULT_OK);
    arch_interrupt_enable(40);
    arch_interrupt_disable(40);
}

static void test_stuck_write_pending(void **state)
{
    (void)state;
    fake.gic.never_settles = true;
    fake.gic.busy_redistributors = true;
    assert_int_equal(arch_interrupt_controller_init(), RESULT_TIMED_OUT);
}

static void test_sleeping_redistributor(void **state)
{
    (void)state;
    fake.gic.never_wakes = true;
    assert_int_equal(arch_interrupt_controller_init(), RESULT_TIMED_OUT);
}

static void test_finds_its_redistributor(void **state)
{
    (void)state;
    fake.affinity = 0xAB00010203; /* fake_gic.c refuses accesses to other Redistributors */
    fake.position = 2;
    start();
    assert_int_equal(arch_interrupt_configure(27, INTERRUPT_LEVEL), RESULT_OK);
    arch_interrupt_enable(27);
    assert_int_equal(fake_own()->bank.enabled[0], 1u << 27);
}

static void test_finds_its_redistributor_between_four_frames(void **state)
{
    (void)state;
    fake.affinity = 0x1;
    fake.position = 3;
    fake.virtual_lpis = true;
    start();
    arch_interrupt_enable(27);
    assert_int_equal(fake_own()->bank.enabled[0], 1u << 27);
}

static void test_no_redistributor(void **state)
{
    (void)state;
    fake.position = FAKE_CORES; /* after the last one */
    assert_int_equal(arch_interrupt_controller_init(), RESULT_NOT_FOUND);
}

static void test_numbers(void **state)
{
    (void)state;
    start();
    assert_false(arch_interrupt_exists(0));
    assert_false(arch_interrupt_exists(15));
    assert_true(arch_interrupt_exists(16));
    assert_true(arch_interrupt_exists(287));
    assert_false(arch_interrupt_exists(288));
    assert_false(arch_interrupt_exists(1023));
    assert_false(arch_interrupt_exists(8192));
}

static void test_configures_shared_interrupts(void **state)
{
    (void)state;
    fake.affinity = 0x203;
    start();
    fake.gic.distributor.groups[1] = 0x80000000;
    fake.gic.distributor.triggers[2] = 0x55550000;
    fake.gic.distributor.enabled[1] = 1u << 8;
    fake.gic.distributor.active[1] = UINT32_MAX;
    fake.gic.distributor.pending[1] = UINT32_MAX;
    assert_int_equal(arch_interrupt_configure(40, INTERRUPT_EDGE), RESULT_OK);
    assert_int_equal(fake.gic.distributor.enabled[1], 0);
    assert_int_equal(fake.gic.distributor.groups[1], 0x80000100);
    assert_int_equal(fake.gic.distributor.triggers[2], 0x55570000);
    assert_int_equal(fake.gic.distributor.priorities[40], 0xA0);
    assert_int_equal(fake.gic.distributor.priorities[41], 0);
    assert_int_equal(fake.gic.routes[40], 0x203);
    assert_int_equal(fake.gic.distributor.active[1], ~(1u << 8));
    assert_int_equal(fake.gic.distributor.pending[1], ~(1u << 8));
    arch_interrupt_enable(40);
    assert_int_equal(fake.gic.distributor.enabled[1], 1u << 8);
    arch_interrupt_raise(40);
    assert_int_equal(fake.gic.distributor.pending[1], UINT32_MAX);
    arch_interrupt_disable(40);
    assert_int_equal(fake.gic.distributor.enabled[1], 0);
    assert_int_equal(arch_interrupt_configure(40, INTERRUPT_LEVEL), RESULT_OK);
    assert_int_equal(fake.gic.distributor.triggers[2], 0x55550000);
}

/* A mask admits the numbers below it (IHI 0069, "ICC_PMR_EL1"). */
static void test_defers(void **state)
{
    (void)state;
    start();
    assert_int_equal(arch_interrupt_configure(40, INTERRUPT_LEVEL), RESULT_OK);
    assert_int_equal(arch_interrupt_configure(41, INTERRUPT_LEVEL), RESULT_OK);
    arch_interrupt_set_deferrable(40, true);
    assert_true(fake.gic.distributor.priorities[40] < fake.priority_mask);
    assert_true(fake.gic.distributor.priorities[40] > fake.gic.distributor.priorities[41]);
    arch_interrupt_defer(true);
    assert_false(fake.gic.distributor.priorities[40] < fake.priority_mask);
    assert_true(fake.gic.distributor.priorities[41] < fake.priority_mask);
    arch_interrupt_set_deferrable(40, false);
    assert_int_equal(fake.gic.distributor.priorities[40], fake.gic.distributor.priorities[41]);
    arch_interrupt_defer(false);
    assert_int_equal(fake.priority_mask, 0xF0);
}

static void test_acknowledges(void **state)
{
    static const uint32_t none[] = {1020, 1021, 1022, 1023};

    (void)state;
    start();
    for (unsigned index = 0; index < 4; index++) {
        fake.to_acknowledge = none[index];
        assert_int_equal(arch_interrupt_acknowledge(), ARCH_INTERRUPT_NONE);
    }
    fake.to_acknowledge = 1019;
    assert_int_equal(arch_interrupt_acknowledge(), 1019);
    fake.to_acknowledge = 8200;
    assert_int_equal(arch_interrupt_acknowledge(), 8200);
    arch_interrupt_end(8200);
    assert_int_equal(fake.ended, 8200);
}

int main(int count, char **arguments)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_start_keeps_shared_settings, prepare),
        cmocka_unit_test_setup(test_turns_affinity_routing_on, prepare),
        cmocka_unit_test_setup(test_needs_system_registers, prepare),
        cmocka_unit_test_setup(test_needs_affinity_routing, prepare),
        cmocka_unit_test_setup(test_ignored_writes_are_tolerated, prepare),
        cmocka_unit_test_setup(test_stuck_write_pending, prepare),
        cmocka_unit_test_setup(test_sleeping_redistributor, prepare),
        cmocka_unit_test_setup(test_finds_its_redistributor, prepare),
        cmocka_unit_test_setup(test_finds_its_redistributor_between_four_frames, prepare),
        cmocka_unit_test_setup(test_no_redistributor, prepare),
        cmocka_unit_test_setup(test_numbers, prepare),
        cmocka_unit_test_setup(test_configures_shared_interrupts, prepare),
        cmocka_unit_test_setup(test_defers, prepare),
        cmocka_unit_test_setup(test_acknowledges, prepare),
    };

    return run_each_alone(tests, sizeof tests / sizeof tests[0], count, arguments);
}
