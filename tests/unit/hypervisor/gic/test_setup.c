/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests hypervisor/gic from power-on to the start and restart of partitions. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "gic/direct.h"
#include "gic/list_register.h"
#include "gic/setup.h"
#include "gic/sgi.h"
#include "gic/system_registers.h"
#include "machine.h"
#include <devices/gic_registers.h>
#include <string.h>

#define GUEST         (~(1u << 15 | 1u << 25 | 1u << 26 | 1u << 28))
#define OWN_SPIS      (1u << (MACHINE_UART - 32) | 1u << (MACHINE_SMMU - 32))
#define FIRST_MESSAGE 100u /* of the SPIs by which cores are called */
#define OWN_SPI_1     (1u << 1 | 1u << 8 | 1u << 31)

static struct machine made;
static bool shares_group1;
static uint64_t place; /* of the failure: an address or an INTID */

static const char *start(uint32_t core)
{
    return gic_start(&machine_system, core, &shares_group1, &place);
}

/* As an earlier owner left it: everything on, pending, active, urgent. */
static void litter(struct gic_bank *bank)
{
    memset(bank, 0xff, sizeof(*bank));
    memset(bank->priorities, 0, sizeof(bank->priorities));
}

static int setup(void **state)
{
    (void)state;
    machine_reset(&made);
    made.gic.control = GICD_CTLR_GROUP0 | GICD_CTLR_GROUP1;
    litter(&made.gic.distributor);
    for (unsigned core = 0; core < MACHINE_CORES; core++) {
        litter(&made.gic.redistributors[core].bank);
    }
    return 0;
}

static void test_distributor(void **state)
{
    const struct gic_bank *bank = &made.gic.distributor;

    (void)state;
    assert_null(start(3));
    assert_int_equal(made.gic.control,
                     GICD_CTLR_GROUP0 | GICD_CTLR_GROUP1 | GICD_CTLR_AFFINITY_ROUTING);
    assert_int_equal(bank->enabled[1], OWN_SPIS);
    assert_int_equal(bank->groups[1], ~OWN_SPIS);
    for (unsigned word = 1; word < 32; word++) {
        assert_int_equal(bank->enabled[word], word == 1 ? OWN_SPIS : 0);
        assert_int_equal(bank->groups[word], word == 1 ? ~OWN_SPIS : UINT32_MAX);
        assert_int_equal(bank->pending[word] | bank->active[word], 0);
        /* 37 (the SMMU's), 40 and 41 are edge-triggered. */
        for (unsigned half = word * 2; half < word * 2 + 2; half++) {
            assert_int_equal(bank->triggers[half], half == 2 ? 2u << 10 | 2u << 16 | 2u << 18 : 0);
        }
    }
    assert_int_equal(bank->priorities[34], 0xa0);
    assert_int_equal(bank->priorities[MACHINE_UART], 0);
    assert_int_equal(bank->priorities[MACHINE_SMMU], 0);
    assert_int_equal(made.gic.routes[MACHINE_UART], MACHINE_FAR_AFFINITY);
    assert_int_equal(made.gic.routes[MACHINE_SMMU], MACHINE_FAR_AFFINITY);
}

/* A board without an SMMU, whose GIC has fewer interrupts; the description has none of the missing
 * ones. */
static void test_small(void **state)
{
    (void)state;
    made.gic.type = 2;
    machine_system.board.smmu_interrupt = 0;
    machine_system.partitions[0].interrupts[31] = 0;
    assert_null(start(0));
    assert_int_equal(made.gic.distributor.enabled[1], 1u << (MACHINE_UART - 32));
    assert_int_equal(made.gic.distributor.enabled[0], UINT32_MAX);
    assert_int_equal(made.gic.distributor.enabled[3], UINT32_MAX);
    assert_int_equal(made.gic.distributor.triggers[2], 2u << 16 | 2u << 18);
}

static void test_distributor_refused(void **state)
{
    (void)state;
    made.gic.no_routing = true;
    assert_string_equal(start(0), "the GIC has no affinity routing");
    made.gic.no_routing = false;
    made.gic.never_settles = true;
    assert_string_equal(start(0), "the GIC's Distributor does not settle");
    made.gic.never_settles = false;
    made.gic.type = 30; /* 1019 is described */
    assert_string_equal(start(0), "the GIC lacks an interrupt that is described, INTID");
    assert_int_equal(place, 1019);
    made.gic.type = 0;
    memset(machine_system.partitions, 0, sizeof(machine_system.partitions));
    assert_string_equal(start(0), "the GIC lacks an interrupt that is described, INTID");
    assert_int_equal(place, MACHINE_UART);
}

/* The firmware keeps the SGIs of the upper half, as TF-A does. */
static void begin_two_security_states(void)
{
    made.gic.two_securities = true;
    made.gic.firmwares_private = 0xff00;
    for (uint32_t core = 0; core < MACHINE_CORES; core++) {
        machine_system.cores[core].message_interrupt = FIRST_MESSAGE + core;
    }
    assert_null(start(0));
    machine_partition.constant.shares_group1 = machine_partition.constant.is_listed = true;
}

/* `kept`: the private interrupt that the firmware keeps. */
static void assert_core_is_refused(uint32_t kept, const char *reason)
{
    made.gic.firmwares_private = 1u << kept;
    assert_string_equal(gic_start_core(&machine_vcpu), reason);
}

/* Group 0 is the firmware's, so the hypervisor's own interrupts are in Group 1, too. */
static void test_two_security_states(void **state)
{
    (void)state;
    begin_two_security_states();
    assert_true(shares_group1);
    assert_int_equal(made.gic.control, GICD_CTLR_AFFINITY_ROUTING | GICD_CTLR_GROUP1);
    assert_null(gic_start_core(&machine_vcpu));
    assert_int_equal(made.gic.redistributors[1].bank.enabled[0] & ~0xff00u, 1u << 25 | 1u << 26);
    assert_core_is_refused(26, "the firmware keeps interrupt 26, the EL2 timer's");
    assert_core_is_refused(25, "the firmware keeps interrupt 25, the maintenance interrupt");
}

/* The message names the interrupt: of a partition, of the hypervisor, or for messages. */
static void test_interrupts_of_the_firmware(void **state)
{
    static const uint32_t kept[] = {33, 63, MACHINE_UART, FIRST_MESSAGE + 1, 1019};

    (void)state;
    begin_two_security_states();
    for (unsigned i = 0; i < sizeof(kept) / sizeof(kept[0]); i++) {
        made.gic.firmwares = kept[i];
        made.gic.distributor.priorities[kept[i]] = 0;
        assert_string_equal(start(0), "the firmware keeps an interrupt that the system uses; add "
                                      "it to interrupts of [firmware] in board.toml:");
        assert_int_equal(place, kept[i]);
    }
    made.gic.firmwares = 32; /* nobody uses it */
    assert_null(start(0));
}

#define LPI_TABLE UINT64_C(0xabcd0000)

/* As a loader leaves LPIs of 16 bits on, with a pending table of 8 KiB. */
static void leave_lpis_on(unsigned core, uint64_t table)
{
    struct gic_redistributor *redistributor = &made.gic.redistributors[core];

    redistributor->control |= GICR_CTLR_ENABLE_LPIS;
    redistributor->configuration_table = UINT64_C(0x12340000) | UINT64_C(7) << 7 | 15;
    redistributor->pending_table = table | UINT64_C(7) << 7 | GICR_PENDBASER_ZEROED;
}

/* Also of cores without a VCPU, whose pending tables may be in memory of a partition. */
static void test_lpis_are_switched_off(void **state)
{
    uint32_t before = made.gic.redistributors[0].control;

    (void)state;
    for (unsigned core = 0; core < MACHINE_CORES; core++) {
        leave_lpis_on(core, LPI_TABLE);
    }
    assert_null(start(0));
    for (unsigned core = 0; core < MACHINE_CORES; core++) {
        assert_int_equal(made.gic.redistributors[core].control, before);
    }
}

static void test_lpis_that_stay_on_are_refused(void **state)
{
    static const char stay[] =
        "a loader left LPIs on, and the GIC does not switch them off: pending table at";

    (void)state;
    leave_lpis_on(4, LPI_TABLE);
    made.gic.lpis_stay_enabled = true;
    assert_string_equal(start(0), stay);
    assert_int_equal(place, LPI_TABLE);
    made.gic.lpis_stay_enabled = false;
    made.gic.busy_redistributors = true;
    leave_lpis_on(4, LPI_TABLE);
    made.gic.reads = 0;
    assert_string_equal(start(0), stay);
    assert_in_range(made.gic.reads, 100000, 250000);
}

/* The Redistributor might write what it has cached of its table over the hypervisor's. */
static void test_lpis_in_the_hypervisors_memory_are_refused(void **state)
{
    const struct description_board *board = &machine_system.board;
    uint64_t end = board->hypervisor + board->hypervisor_bytes;
    const uint64_t inside[] = {board->hypervisor, end - 0x10000};

    (void)state;
    for (unsigned i = 0; i < 2; i++) {
        leave_lpis_on(2, inside[i]);
        assert_string_equal(
            start(0), "a loader left LPIs on, with a pending table in the hypervisor's memory, at");
        assert_int_equal(place, inside[i]);
        assert_int_equal(made.gic.redistributors[2].control & GICR_CTLR_ENABLE_LPIS, 1);
    }
    leave_lpis_on(2, end);
    assert_null(start(0));
    leave_lpis_on(2, board->hypervisor - 0x10000);
    assert_null(start(0));
}

/* Monitors call each core by an SPI of its own, because SGIs may be the firmware's or the guest's.
 */
static void test_messages_with_two_security_states(void **state)
{
    (void)state;
    begin_two_security_states();
    for (uint32_t core = 0; core < MACHINE_CORES; core++) {
        uint32_t number = FIRST_MESSAGE + core, bit = 1u << number % 32;

        assert_int_equal(made.gic.distributor.enabled[number / 32] & bit, bit);
        assert_int_equal(made.gic.distributor.triggers[number / 16] >> number % 16 * 2 & 3, 2);
        assert_int_equal(made.gic.distributor.priorities[number], 0);
        assert_int_equal(made.gic.routes[number], machine_system.cores[core].affinity);
        assert_int_equal(made.gic.distributor.pending[number / 32] & bit, 0);
    }
    gic_send(&machine_partition, 2); /* on core 3 */
    assert_int_equal(made.gic.distributor.pending[FIRST_MESSAGE / 32],
                     1u << (FIRST_MESSAGE + 3) % 32);
    assert_int_equal(made.group0_count + made.group1_count, 0);
    machine_system.cores[3].message_interrupt = 0;
    assert_string_equal(
        start(0), "the image was built for a GIC with one security state, not for the one at");
}

/* The firmware turns the other cores on after gic_start(), and changes their Redistributors then.
 */
static void test_redistributors(void **state)
{
    (void)state;
    assert_null(start(0));
    made.gic.redistributors[1].bank.enabled[0] = 0;
    assert_null(gic_start_core(&machine_vcpu));
    for (unsigned core = 0; core < MACHINE_CORES; core++) {
        const struct gic_bank *bank = &made.gic.redistributors[core].bank;

        if (core != 1) { /* it is its own core's */
            assert_int_equal(made.gic.redistributors[core].waker,
                             GICR_WAKER_PROCESSOR_SLEEP | GICR_WAKER_CHILDREN_ASLEEP);
            assert_int_equal(bank->enabled[0], UINT32_MAX);
            continue;
        }
        assert_int_equal(made.gic.redistributors[core].waker, 0);
        assert_int_equal(bank->enabled[0], 1u << 15 | 1u << 26);
        assert_int_equal(bank->groups[0], GUEST);
        assert_int_equal(bank->pending[0] | bank->active[0], 0);
        for (unsigned interrupt = 0; interrupt < 32; interrupt++) {
            assert_int_equal(bank->priorities[interrupt], (GUEST >> interrupt & 1) != 0 ? 0xa0 : 0);
        }
    }
}

static void test_redistributors_refused(void **state)
{
    (void)state;
    made.other_affinity = true;
    assert_string_equal(start(0), "a Redistributor is not its core's");
    made.other_affinity = false;
    made.gic.never_wakes = true;
    assert_string_equal(gic_start_core(&machine_vcpu), "a Redistributor does not wake");
    made.gic.never_wakes = false;
    made.gic.busy_redistributors = true;
    assert_string_equal(gic_start_core(&machine_vcpu), "a Redistributor does not settle");
    assert_false(made.has_group0);
}

static void test_core(void **state)
{
    (void)state;
    assert_null(gic_start_core(&machine_vcpu));
    assert_int_equal(made.starts, 1);
    assert_true(made.has_group0);
    made.legacy = true;
    made.gic.writes = 0;
    assert_string_equal(gic_start_core(&machine_vcpu),
                        "a core has no system registers for the GIC");
    assert_int_equal(made.gic.writes, 0);
}

/* A partition restarts while the other one runs. */
static void test_reset(void **state)
{
    struct gic_bank *bank = &made.gic.distributor;

    (void)state;
    made.guarded = true;
    machine_partition.atomic.distributor_control = GICD_CTLR_GROUP1;
    made.gic.routes[34] = 2;
    machine_reset_partition();
    assert_int_equal(machine_partition.atomic.distributor_control, 0);
    assert_int_equal(bank->enabled[1], ~OWN_SPI_1);
    assert_int_equal(bank->pending[1], ~OWN_SPI_1);
    assert_int_equal(bank->active[1], ~OWN_SPI_1);
    assert_int_equal(bank->enabled[2], ~1u);
    assert_int_equal(bank->enabled[31], ~(1u << 27));
    assert_int_equal(bank->priorities[33], 0xa0);
    assert_int_equal(bank->priorities[34], 0);
    assert_int_equal(made.gic.routes[33], 1);
    assert_int_equal(made.gic.routes[1019], 1);
    assert_int_equal(made.gic.routes[34], 2);

    gic_reset_core(&machine_vcpu);
    assert_int_equal(made.gic.redistributors[1].bank.enabled[0], ~GUEST);
    assert_int_equal(made.gic.redistributors[1].bank.pending[0], ~GUEST);
    assert_int_equal(made.gic.redistributors[1].bank.active[0], ~GUEST);
    assert_int_equal(made.gic.redistributors[1].bank.priorities[27], 0xa0);
    assert_int_equal(made.gic.redistributors[1].bank.priorities[26], 0);
    assert_int_equal(made.gic.redistributors[0].bank.enabled[0], UINT32_MAX);
    assert_int_equal(made.resets, 1);
}

/* A GIC that does not settle holds up one entry for a while, and no later one. */
static void test_waits_are_bounded(void **state)
{
    uint32_t group = 0;

    (void)state;
    made.gic.busy_redistributors = true;
    gic_reset_core(&machine_vcpu);
    assert_in_range(made.gic.reads, 2, 1100);
    made.gic.reads = 0;
    gic_reset_core(&machine_vcpu);
    assert_in_range(made.gic.reads, 2, 100);
    made.gic.busy_redistributors = false;
    made.gic.never_settles = true;
    made.guarded = true;
    assert_int_equal(gic_reset_partition(&machine_partition, &group), STEP_FAILED);
    made.gic.never_settles = false;
    while (gic_reset_partition(&machine_partition, &group) == STEP_PENDING) {
    }
    machine_partition.atomic.is_unsettled = 0;
}

/* The next start or stop tells that the interrupts of a core were not disabled. */
static void test_an_unsettled_core_fails_the_reset(void **state)
{
    uint32_t group = 0;
    unsigned failures = 0;
    enum step_outcome outcome;

    (void)state;
    made.gic.busy_redistributors = true;
    gic_reset_core(&machine_vcpu);
    made.gic.busy_redistributors = false;
    gic_reset_core(&machine_vcpu);
    made.guarded = true;
    do {
        outcome = gic_reset_partition(&machine_partition, &group);
        failures += outcome == STEP_FAILED;
    } while (outcome != STEP_DONE);
    assert_int_equal(failures, 1);
    assert_int_equal(gic_reset_partition(&machine_partition, &group), STEP_DONE);
}

static void test_raise(void **state)
{
    (void)state;
    memset(&made.gic.distributor, 0, sizeof(made.gic.distributor));
    made.guarded = true;
    gic_make_pending(&machine_system, 40);
    assert_int_equal(made.gic.distributor.pending[1], 1u << 8);
}

static void test_route(void **state)
{
    (void)state;
    memset(&made.gic.distributor, 0, sizeof(made.gic.distributor));
    gic_route(&machine_system, MACHINE_SMMU, 3);
    assert_int_equal(made.gic.routes[MACHINE_SMMU], MACHINE_FAR_AFFINITY);
    assert_int_equal(made.gic.distributor.pending[MACHINE_SMMU / 32], 1u << MACHINE_SMMU % 32);
}

/* The hypervisor's SPIs leave a core that has halted, and are not routed to it again. The last
 * test, because a core that has halted stays so. */
static void test_halted_core(void **state)
{
    (void)state;
    gic_route(&machine_system, MACHINE_SMMU, 3);
    assert_false(gic_has_halted(3));
    assert_true(gic_record_halt(3));
    assert_false(gic_record_halt(3));
    assert_true(gic_has_halted(3));
    assert_false(gic_has_halted(2));
    assert_true(gic_take_over(&machine_system, MACHINE_SMMU, 2, 1)); /* not routed to core 2 */
    assert_int_equal(made.gic.routes[MACHINE_SMMU], MACHINE_FAR_AFFINITY);
    assert_false(gic_take_over(&machine_system, MACHINE_SMMU, 3, 3));
    assert_int_equal(made.gic.routes[MACHINE_SMMU], MACHINE_FAR_AFFINITY);
    assert_true(gic_take_over(&machine_system, MACHINE_SMMU, 3, 1));
    assert_int_equal(made.gic.routes[MACHINE_SMMU], machine_system.cores[1].affinity);
    gic_route(&machine_system, MACHINE_SMMU, 3);
    assert_int_equal(made.gic.routes[MACHINE_SMMU], machine_system.cores[1].affinity);
}

/* An SPI that a core was handling is signalled again. */
static void test_end_for_halted(void **state)
{
    const uint32_t spi = 1u << MACHINE_SMMU % 32;

    (void)state;
    memset(&made.gic.distributor, 0, sizeof(made.gic.distributor));
    made.gic.distributor.active[MACHINE_SMMU / 32] = UINT32_MAX;
    gic_end_for_halted(&machine_system, MACHINE_SMMU);
    assert_int_equal(made.gic.distributor.active[MACHINE_SMMU / 32], ~spi);
    assert_int_equal(made.gic.distributor.pending[MACHINE_SMMU / 32], spi);
}

static void test_active_priorities(void **state)
{
    uint64_t active;

    (void)state;
    made.active = 0x80000001;
    active = gic_hide_active();
    assert_int_equal(made.active, 0);
    gic_restore_active(active);
    assert_int_equal(made.active, 0x80000001);
}

static void test_group0(void **state)
{
    (void)state;
    made.to_acknowledge = 26;
    assert_int_equal(gic_acknowledge(&machine_partition), 26);
    gic_end(&machine_partition, 26);
    assert_int_equal(made.ended, 26);
    for (made.to_acknowledge = 1020; made.to_acknowledge < 1024; made.to_acknowledge++) {
        assert_int_equal(gic_acknowledge(&machine_partition), GIC_NONE);
    }
}

/* The registers that both groups have in common, of a guest with direct interrupts. */
static void test_common_registers(void **state)
{
    (void)state;
    assert_null(gic_start_core(&machine_vcpu));
    assert_int_equal(made.interface.control, LIST_CONTROL_TRAP_COMMON);
    made.interface.mask = 0xff;
    made.interface.is_split = true;
    gic_reset_core(&machine_vcpu);
    gic_open_core(&machine_vcpu);
    assert_int_equal(direct_mask(&machine_vcpu), 0);
    assert_int_equal(direct_control(), 0x48400);
    for (uint32_t value = 0; value <= 0x1ff; value++) {
        uint32_t kept = value & 0xf8; /* 5 bits */

        direct_set_mask(&machine_vcpu, value); /* the model checks that Group 0 is signalled */
        assert_int_equal(direct_mask(&machine_vcpu), kept);
        assert_int_equal(made.interface.mask, kept < 0x10 ? 0x10 : kept);
    }
    direct_set_control(UINT64_MAX); /* the model checks that only EOImode changes */
    assert_int_equal(direct_control(), 0x48402);
    direct_set_control(~UINT64_C(2));
    assert_int_equal(direct_control(), 0x48400);
}

static bool is_active(uint32_t number)
{
    const struct gic_bank *bank =
        number < 32 ? &made.gic.redistributors[1].bank : &made.gic.distributor;

    return (bank->active[number / 32] >> number % 32 & 1) != 0;
}

/* A guest with EOImode 1 deactivates its interrupts, and no others. */
static void test_deactivation(void **state)
{
    (void)state;
    direct_set_control(ICC_CTLR_EOI_MODE);
    for (uint32_t number = 0; number < 1020; number++) {
        bool is_own = number < 32 ? (GUEST >> number & 1) != 0
                                  : partition_owns_interrupt(&machine_partition, number);

        made.gic.redistributors[1].bank.active[0] = UINT32_MAX;
        memset(made.gic.distributor.active, 0xff, sizeof(made.gic.distributor.active));
        assert_int_equal(direct_deactivate(&machine_vcpu, number),
                         is_own ? ACCESS_DONE : ACCESS_REFUSED);
        assert_int_equal(is_active(number), !is_own);
    }
    assert_int_equal(direct_deactivate(&machine_vcpu, 1023), ACCESS_REFUSED);
    assert_int_equal(direct_deactivate(&machine_vcpu, 0xffffff), ACCESS_REFUSED);
    direct_set_control(0);
    made.gic.distributor.active[1] = UINT32_MAX;
    assert_int_equal(direct_deactivate(&machine_vcpu, 33), ACCESS_DONE);
    assert_true(is_active(33));
}

/* The firmware's group is not touched: the access might trap to it. */
static void test_core_with_two_security_states(void **state)
{
    (void)state;
    begin_two_security_states();
    assert_null(gic_start_core(&machine_vcpu));
    gic_reset_core(&machine_vcpu);
    assert_false(made.has_group0);
    made.gic.redistributors[1].bank.groups[0] = UINT32_MAX; /* as the firmware leaves them */
    made.gic.redistributors[1].bank.pending[0] = 1u << 26;
    assert_int_equal(gic_acknowledge(&machine_partition), 26);
    made.gic.redistributors[1].bank.pending[0] = 0;
    gic_end(&machine_partition, 26);
    assert_int_equal(made.gic.redistributors[1].bank.active[0] & ~0xff00u, 0);
    assert_int_equal(gic_acknowledge(&machine_partition), GIC_NONE);
    made.interface.list_count = 1;
    assert_string_equal(gic_start_core(&machine_vcpu),
                        "listed interrupts need two list registers, not in core");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_distributor, setup),
        cmocka_unit_test_setup(test_small, setup),
        cmocka_unit_test_setup(test_distributor_refused, setup),
        cmocka_unit_test_setup(test_two_security_states, setup),
        cmocka_unit_test_setup(test_interrupts_of_the_firmware, setup),
        cmocka_unit_test_setup(test_lpis_are_switched_off, setup),
        cmocka_unit_test_setup(test_lpis_that_stay_on_are_refused, setup),
        cmocka_unit_test_setup(test_lpis_in_the_hypervisors_memory_are_refused, setup),
        cmocka_unit_test_setup(test_messages_with_two_security_states, setup),
        cmocka_unit_test_setup(test_redistributors, setup),
        cmocka_unit_test_setup(test_redistributors_refused, setup),
        cmocka_unit_test_setup(test_core, setup),
        cmocka_unit_test_setup(test_reset, setup),
        cmocka_unit_test_setup(test_waits_are_bounded, setup),
        cmocka_unit_test_setup(test_an_unsettled_core_fails_the_reset, setup),
        cmocka_unit_test_setup(test_raise, setup),
        cmocka_unit_test_setup(test_route, setup),
        cmocka_unit_test_setup(test_active_priorities, setup),
        cmocka_unit_test_setup(test_group0, setup),
        cmocka_unit_test_setup(test_common_registers, setup),
        cmocka_unit_test_setup(test_deactivation, setup),
        cmocka_unit_test_setup(test_core_with_two_security_states, setup),
        cmocka_unit_test_setup(test_end_for_halted, setup),
        cmocka_unit_test_setup(test_halted_core, setup),
    };

    return cmocka_run_group_tests_name("setup", tests, NULL, NULL);
}
