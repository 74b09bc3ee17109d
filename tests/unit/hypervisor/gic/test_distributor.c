/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the Distributor of hypervisor/gic as the first partition sees it. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "machine.h"
#include <devices/gic_registers.h>

#define OWN_WORD_1    (1u << 1 | 1u << 8 | 1u << 31) /* 33, 40, 63 */
#define SECOND_WORD_1 (1u << 2 | 1u << 9)
#define ROUTE(number) (GICD_IROUTER + 8u * (number))

static struct machine made;

static int setup(void **state)
{
    (void)state;
    machine_reset(&made);
    made.gic.control = GICD_CTLR_AFFINITY_ROUTING | GICD_CTLR_GROUP0 | GICD_CTLR_GROUP1;
    made.guarded = true;
    return 0;
}

static uint64_t read(uint64_t offset, uint8_t bytes)
{
    return machine_distributor_access(READ(offset, bytes), ACCESS_DONE);
}

static void write(uint64_t offset, uint8_t bytes, uint64_t value, enum access_result result)
{
    (void)machine_distributor_access(WRITE(offset, bytes, value), result);
}

static void test_whole(void **state)
{
    (void)state;
    assert_int_equal(read(GICD_CTLR, 4), GICD_CTLR_AFFINITY_ROUTING | GICD_CTLR_ONE_SECURITY);
    write(GICD_CTLR, 4, UINT32_MAX, ACCESS_DONE);
    assert_int_equal(read(GICD_CTLR, 4),
                     GICD_CTLR_AFFINITY_ROUTING | GICD_CTLR_ONE_SECURITY | GICD_CTLR_GROUP1);
    made.gic.never_settles = true;
    assert_true(read(GICD_CTLR, 4) & GICD_CTLR_WRITE_PENDING);
    write(GICD_CTLR, 4, 0, ACCESS_DONE);
    assert_int_equal(read(GICD_CTLR, 4),
                     GICD_CTLR_AFFINITY_ROUTING | GICD_CTLR_ONE_SECURITY | GICD_CTLR_WRITE_PENDING);
    assert_int_equal(made.gic.writes, 0);
    /* 1024 numbers, 16 bits, Aff3; nothing of LPIs, messages, NMIs, extended SPIs; no IRM. */
    assert_int_equal(read(GICD_TYPER, 4), 31 | 15u << 19 | 1u << 24 | 1u << 25);
    assert_int_equal(read(GICD_IIDR, 4), 0x43b);
    assert_int_equal(read(GICD_PIDR2, 4), 0x3b);
    write(GICD_TYPER, 4, 1, ACCESS_REFUSED);
    write(GICD_PIDR2, 4, 1, ACCESS_REFUSED);
}

/* Registers for message-based SPIs, GICv2's targets and SGIs, security and extended SPIs are
 * absent. */
static void test_absent(void **state)
{
    static const uint32_t offsets[] = {0xc,    0x10,   0x40,   0x48,   0x50,   0x7c,  0x800,
                                       0xbfc,  0xd00,  0xe00,  0xf84,  0xf00,  0xf10, 0xf20,
                                       0x1000, 0x2000, 0x5ffc, 0x7fe0, 0x8000, 0xffcc};

    (void)state;
    for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++) {
        assert_int_equal(read(offsets[i], 4), 0);
        write(offsets[i], 4, 34, ACCESS_REFUSED);
    }
    assert_int_equal(made.gic.reads + made.gic.writes, 0);
}

static void check_bits(uint32_t set, uint32_t clear, uint32_t *bits)
{
    bits[1] = SECOND_WORD_1 | 1u << (MACHINE_UART - 32);
    assert_int_equal(read(set + 4, 4), 0);
    made.gic.reads = 0;
    write(set + 4, 4, OWN_WORD_1, ACCESS_DONE);
    write(set + 4, 4, UINT32_MAX, ACCESS_REFUSED);
    assert_int_equal(made.gic.reads, 0); /* what is written is not what others had a moment ago */
    assert_int_equal(bits[1], SECOND_WORD_1 | OWN_WORD_1 | 1u << (MACHINE_UART - 32));
    assert_int_equal(read(set + 4, 4), OWN_WORD_1);
    assert_int_equal(read(clear + 4, 4), OWN_WORD_1);
    write(clear + 4, 4, 1u << 8, ACCESS_DONE);
    assert_int_equal(read(set + 4, 4), OWN_WORD_1 & ~(1u << 8));
    write(clear + 4, 4, UINT32_MAX, ACCESS_REFUSED);
    assert_int_equal(bits[1], SECOND_WORD_1 | 1u << (MACHINE_UART - 32));
    /* A write of zeros has no effect. The second write is for the highest SPI. */
    write(set + 4, 4, 0, ACCESS_DONE);
    write(set + 0x7c, 4, 1u << 27, ACCESS_DONE);
    assert_int_equal(bits[31], 1u << 27);
    /* INTIDs 0 to 31 are in the Redistributors. */
    bits[0] = UINT32_MAX;
    assert_int_equal(read(set, 4), 0);
    write(clear, 4, UINT32_MAX, ACCESS_REFUSED);
    assert_int_equal(bits[0], UINT32_MAX);
}

static void test_bits(void **state)
{
    (void)state;
    check_bits(GIC_ISENABLER, GIC_ICENABLER, made.gic.distributor.enabled);
    check_bits(GIC_ISPENDR, GIC_ICPENDR, made.gic.distributor.pending);
    check_bits(GIC_ISACTIVER, GIC_ICACTIVER, made.gic.distributor.active);
}

static void test_groups(void **state)
{
    (void)state;
    made.gic.distributor.groups[1] = ~(1u << (MACHINE_UART - 32));
    assert_int_equal(read(GIC_IGROUPR + 4, 4), OWN_WORD_1);
    write(GIC_IGROUPR + 4, 4, 0, ACCESS_DONE);
    write(GIC_IGROUPR + 4, 4, UINT32_MAX, ACCESS_REFUSED);
    assert_int_equal(made.gic.distributor.groups[1], ~(1u << (MACHINE_UART - 32)));
    assert_int_equal(made.gic.writes, 0);
}

static void test_priorities(void **state)
{
    (void)state;
    made.gic.distributor.priorities[34] = 0xb0;
    made.gic.distributor.priorities[MACHINE_UART] = 0x01;
    write(GIC_IPRIORITYR + 33, 1, 0xc0, ACCESS_DONE);
    assert_int_equal(read(GIC_IPRIORITYR + 33, 1), 0xc0);
    assert_int_equal(read(GIC_IPRIORITYR + 32, 4), 0xc000);
    write(GIC_IPRIORITYR + 32, 4, 0x90a0b0c0, ACCESS_REFUSED);
    assert_int_equal(made.gic.distributor.priorities[32], 0);
    assert_int_equal(made.gic.distributor.priorities[33], 0xb0);
    assert_int_equal(made.gic.distributor.priorities[34], 0xb0);
    write(GIC_IPRIORITYR + 34, 1, 0xc0, ACCESS_REFUSED);
    assert_int_equal(read(GIC_IPRIORITYR + 34, 1), 0);
    assert_int_equal(read(GIC_IPRIORITYR + MACHINE_UART, 4), 0);
    /* A guest's interrupt never gets the hypervisor's priority, whatever the value of
     * ICC_BPR1_EL1. */
    write(GIC_IPRIORITYR + 63, 1, 0, ACCESS_DONE);
    assert_int_equal(made.gic.distributor.priorities[63], 0x80);
    write(GIC_IPRIORITYR + 60, 4, 0x7fffffff, ACCESS_REFUSED);
    assert_int_equal(made.gic.distributor.priorities[63], 0x80);
    write(GIC_IPRIORITYR + 1019, 1, 0x81, ACCESS_DONE);
    assert_int_equal(read(GIC_IPRIORITYR + 1016, 4), 0x81000000);
    assert_int_equal(read(GIC_IPRIORITYR, 4), 0);
    write(GIC_IPRIORITYR, 4, 0xa0a0a0a0, ACCESS_REFUSED);
}

static void test_triggers(void **state)
{
    (void)state;
    made.gic.distributor.triggers[2] = 0xaaaaaaaa; /* 32 to 47 */
    assert_int_equal(read(GIC_ICFGR + 8, 4), 2u << 2 | 2u << 16);
    write(GIC_ICFGR + 8, 4, 0, ACCESS_REFUSED);
    assert_int_equal(made.gic.distributor.triggers[2], 0xaaaaaaaa);
    /* All 16 its own: what it says is ignored, and does nothing to others. */
    machine_system.partitions[0].interrupts[3] = 0xffff;
    write(GIC_ICFGR + 24, 4, UINT32_MAX, ACCESS_DONE);
    assert_int_equal(read(GIC_ICFGR + 24, 4), 0);
    assert_int_equal(made.gic.writes, 0);
}

static void test_routes(void **state)
{
    const uint64_t far = MACHINE_FAR_AFFINITY;

    (void)state;
    made.gic.routes[34] = 2;
    /* VCPU 1 is on core 0, VCPU 2 on the far core. */
    write(ROUTE(33), 8, 1, ACCESS_DONE);
    assert_int_equal(made.gic.routes[33], 0);
    assert_int_equal(read(ROUTE(33), 8), 1);
    write(ROUTE(33), 8, 2, ACCESS_DONE);
    assert_int_equal(made.gic.routes[33], far);
    assert_int_equal(read(ROUTE(33), 4), 2);
    assert_int_equal(read(ROUTE(33) + 4, 4), 0);
    /* No VCPU, the affinity of a core, any core (IRM), a reserved bit. */
    write(ROUTE(33), 8, 3, ACCESS_REFUSED);
    write(ROUTE(33), 8, far, ACCESS_REFUSED);
    write(ROUTE(33), 8, 1u << 31, ACCESS_REFUSED);
    write(ROUTE(33), 8, 1u << 31 | 1, ACCESS_REFUSED);
    write(ROUTE(33), 8, UINT64_C(1) << 40 | 1, ACCESS_REFUSED);
    assert_int_equal(made.gic.routes[33], far);
    /* Halves: only where the whole is one of its VCPUs. */
    write(ROUTE(33), 4, 3, ACCESS_REFUSED);
    write(ROUTE(33) + 4, 4, 1, ACCESS_REFUSED);
    assert_int_equal(made.gic.routes[33], far);
    write(ROUTE(33) + 4, 4, 0, ACCESS_DONE);
    write(ROUTE(33), 4, 2 | UINT64_C(9) << 36, ACCESS_DONE); /* above a half is nothing */
    assert_int_equal(made.gic.routes[33], far);
    write(ROUTE(1019), 8, 1, ACCESS_DONE);
    write(ROUTE(1019), 4, 0, ACCESS_DONE);
    write(ROUTE(1019) + 4, 4, 0, ACCESS_DONE);
    assert_int_equal(made.gic.routes[1019], 1);
    /* Others'. */
    assert_int_equal(read(ROUTE(34), 8), 0);
    write(ROUTE(34), 8, 1, ACCESS_REFUSED);
    write(ROUTE(MACHINE_UART), 8, 1, ACCESS_REFUSED);
    assert_int_equal(read(ROUTE(3), 8), 0);
    write(ROUTE(3), 8, 1, ACCESS_REFUSED);
}

static void test_sizes(void **state)
{
    static const struct access wrong[] = {
        READ(GICD_CTLR, 1),           WRITE(GICD_CTLR, 2, 2),
        READ(GICD_CTLR, 8),           READ(GIC_ISENABLER + 4, 1),
        READ(GIC_ISENABLER + 8, 8),   WRITE(GIC_ISENABLER + 4, 2, 2),
        WRITE(GIC_ISPENDR, 8, ~0ul),  WRITE(GIC_IPRIORITYR + 40, 2, 0xa0a0),
        READ(GIC_IPRIORITYR + 40, 8), READ(GIC_ICFGR + 8, 1),
        READ(ROUTE(33), 1),           READ(ROUTE(33), 2),
        WRITE(ROUTE(33), 2, 1),       READ(GICD_PIDR2, 1),
    };

    (void)state;
    made.gic.distributor.enabled[1] = made.gic.distributor.enabled[2] = UINT32_MAX;
    made.gic.routes[33] = 1;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        uint64_t value = machine_distributor_access(wrong[i], ACCESS_REFUSED);

        assert_true(wrong[i].write || value == 0);
    }
    assert_int_equal(made.gic.writes, 0);
}

/* The guest sees SPI 1019 with the number of the board's UART, and 1019 not at all. */
static void test_console_with_another_number(void **state)
{
    uint32_t bit = 1u << (MACHINE_UART - 32);

    (void)state;
    machine_partition.constant.is_listed = true;
    machine_system.partitions[0].console_interrupt = 1019;
    machine_system.partitions[0].console_shown = MACHINE_UART;
    machine_reset_partition();
    write(GIC_ISENABLER + 4, 4, bit | 1u << 8, ACCESS_DONE);
    assert_int_equal(made.gic.distributor.enabled[31], 1u << 27);
    assert_int_equal(read(GIC_ISENABLER + 4, 4), bit | 1u << 8);
    assert_int_equal(read(GIC_ISENABLER + 0x7c, 4), 0);
    write(GIC_ICENABLER + 0x7c, 4, 1u << 27, ACCESS_DONE);
    assert_int_equal(made.gic.distributor.enabled[31], 1u << 27);
    /* Priorities by word and by byte: 36 to 39, of which the guest has the first alone. */
    write(GIC_IPRIORITYR + MACHINE_UART, 4, 0x90a0b0c0, ACCESS_REFUSED);
    assert_int_equal(made.gic.distributor.priorities[1019], 0xc0);
    assert_int_equal(read(GIC_IPRIORITYR + MACHINE_UART, 4), 0xc0);
    write(GIC_IPRIORITYR + MACHINE_UART, 1, 0x50, ACCESS_DONE);
    assert_int_equal(made.gic.distributor.priorities[1019], 0x50);
    write(GIC_IPRIORITYR + 1019, 1, 0x60, ACCESS_REFUSED);
    assert_int_equal(read(GIC_IPRIORITYR + 1016, 4), 0);
    assert_int_equal(made.gic.distributor.priorities[1019], 0x50);
    /* Triggers: two bits for each of 16 interrupts. */
    made.gic.distributor.triggers[1019 / 16] = 2u << 1019 % 16 * 2;
    assert_int_equal(read(GIC_ICFGR + 4 * (MACHINE_UART / 16), 4), 2u << MACHINE_UART % 16 * 2);
    assert_int_equal(read(GIC_ICFGR + 4 * (1019 / 16), 4), 0);
    write(ROUTE(MACHINE_UART), 8, 1, ACCESS_DONE);
    assert_int_equal(read(ROUTE(MACHINE_UART), 8), 1);
    assert_int_equal(read(ROUTE(1019), 8), 0);
    write(ROUTE(1019), 8, 0, ACCESS_REFUSED);
    assert_int_equal(read(ROUTE(MACHINE_UART), 8), 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_whole, setup),
        cmocka_unit_test_setup(test_absent, setup),
        cmocka_unit_test_setup(test_bits, setup),
        cmocka_unit_test_setup(test_groups, setup),
        cmocka_unit_test_setup(test_priorities, setup),
        cmocka_unit_test_setup(test_triggers, setup),
        cmocka_unit_test_setup(test_routes, setup),
        cmocka_unit_test_setup(test_sizes, setup),
        cmocka_unit_test_setup(test_console_with_another_number, setup),
    };

    return cmocka_run_group_tests_name("distributor", tests, NULL, NULL);
}
