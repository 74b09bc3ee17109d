/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the Redistributors and ICC_SGI1R_EL1 of hypervisor/gic as the first partition sees them. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "gic/redistributor.h"
#include "gic/sgi.h"
#include "machine.h"
#include <devices/gic_registers.h>

#define GUEST        (~(1u << 15 | 1u << 25 | 1u << 26 | 1u << 28))
#define SGI_FRAME    GIC_FRAME_BYTES
#define ALL_BUT_SELF (UINT64_C(1) << 40)
#define NUMBER(sgi)  ((uint64_t)(sgi) << 24)

#define NOTHING UINT32_MAX /* no frame at a place */

static struct machine made;

static int setup(void **state)
{
    (void)state;
    machine_reset(&made);
    made.guarded = true;
    return 0;
}

static uint64_t read(unsigned place, uint64_t offset, uint8_t bytes)
{
    return machine_redistributor_access(place, READ(offset, bytes), ACCESS_DONE);
}

static void write(uint64_t offset, uint8_t bytes, uint64_t value, enum access_result result)
{
    (void)machine_redistributor_access(1, WRITE(offset, bytes, value), result);
}

static void test_frame(void **state)
{
    (void)state;
    assert_int_equal(read(1, GICR_CTLR, 4), 0);
    made.gic.busy_redistributors = true;
    assert_int_equal(read(1, GICR_CTLR, 4), GICR_CTLR_WRITE_PENDING);
    assert_int_equal(read(1, GICR_IIDR, 4), 0x43b);
    assert_int_equal(read(1, GICD_PIDR2, 4), 0x3b);
    assert_int_equal(read(2, GICR_TYPER, 4), 2u << 8 | GICR_TYPER_LAST);
    assert_int_equal(read(2, GICR_TYPER + 4, 4), 2);
    assert_int_equal(read(1, GICR_WAKER, 4), 0);
    write(GICR_WAKER, 4, GICR_WAKER_PROCESSOR_SLEEP, ACCESS_DONE);
    write(GICR_CTLR, 4, GICR_CTLR_ENABLE_LPIS, ACCESS_DONE);
    for (uint32_t offset = 0x40; offset < 0xffd0; offset += 4) {
        assert_int_equal(read(1, offset, 4), 0);
        write(offset, 4, UINT32_MAX, ACCESS_REFUSED);
    }
    assert_int_equal(made.gic.writes, 0);
}

/* The frames that a partition with these VCPUs finds at each of the machine's places: those of a
 * VCPU, or NOTHING. `last`: bit n is GICR_TYPER.Last of VCPU n. */
struct frames {
    uint32_t count;
    uint32_t cores[MACHINE_CORES];
    uint32_t places[MACHINE_CORES];
    uint32_t last;
};

static void check_frame(const struct frames *frames, unsigned place)
{
    uint32_t vcpu = frames->places[place];
    uint64_t type = (uint64_t)vcpu << 32 | vcpu << 8;
    uint64_t offset =
        machine_system.cores[frames->cores[vcpu]].redistributor - machine_redistributor(0);

    type |= (frames->last >> vcpu & 1) != 0 ? GICR_TYPER_LAST : 0;
    assert_int_equal(read(place, GICR_TYPER, 8), type);
    (void)machine_redistributor_access(place, WRITE(SGI_FRAME + GIC_ISENABLER, 4, 1u << place),
                                       ACCESS_DONE);
    assert_int_equal(made.gic.redistributors[offset / REDISTRIBUTOR_BYTES].bank.enabled[0],
                     1u << place);
}

static void check_frames(const struct frames *frames)
{
    made.guarded = false;
    machine_system.partitions[0].vcpu_count = frames->count;
    for (uint32_t vcpu = 0; vcpu < frames->count; vcpu++) {
        machine_system.partitions[0].vcpus[vcpu].core = frames->cores[vcpu];
    }
    for (unsigned place = 0; place < MACHINE_CORES; place++) {
        const uint64_t sgi_frame = SGI_FRAME + GIC_ISENABLER;
        unsigned accesses = made.gic.reads + made.gic.writes;

        if (frames->places[place] == NOTHING) {
            (void)machine_redistributor_access(place, READ(GICR_TYPER, 8), ACCESS_FORBIDDEN);
            (void)machine_redistributor_access(place, WRITE(sgi_frame, 4, 1), ACCESS_FORBIDDEN);
            assert_int_equal(made.gic.reads + made.gic.writes, accesses);
        } else {
            check_frame(frames, place);
        }
    }
}

static void test_frames_follow_each_other(void **state)
{
    static const struct frames cases[] = {
        {2, {1, 2}, {0, 1, NOTHING, NOTHING, NOTHING}, 1u << 1},
        {1, {3}, {0, NOTHING, NOTHING, NOTHING, NOTHING}, 1u << 0},
        {3, {0, 2, 3}, {0, 1, 2, NOTHING, NOTHING}, 1u << 2},
        {3, {3, 0, 2}, {0, 1, 2, NOTHING, NOTHING}, 1u << 2},
    };

    for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
        (void)setup(state);
        check_frames(&cases[i]);
    }
}

/* The places look as on a machine with that many cores: a walk ends before the gap and starts again
 * after it. */
static void test_frames_in_two_regions(void **state)
{
    static const struct frames frames = {
        3, {1, 2, 3}, {0, 1, NOTHING, 2, NOTHING}, 1u << 1 | 1u << 2};

    (void)state;
    machine_system.cores[2].redistributor = machine_redistributor(3);
    machine_system.cores[3].redistributor = machine_redistributor(4);
    machine_system.cores[4].redistributor = machine_redistributor(2);
    check_frames(&frames);
}

static void test_no_registers_around_the_frames(void **state)
{
    (void)state;
    (void)machine_redistributor_access(0, READ(-UINT64_C(4), 4), ACCESS_FORBIDDEN);
    (void)machine_redistributor_access(3, READ(0, 4), ACCESS_FORBIDDEN);
    (void)machine_redistributor_access(MACHINE_CORES, READ(0, 4), ACCESS_FORBIDDEN);
    assert_int_equal(made.gic.reads + made.gic.writes, 0);
}

static void test_sizes(void **state)
{
    static const struct access wrong[] = {
        READ(GICR_CTLR, 1),
        READ(GICR_CTLR, 8),
        READ(GICR_TYPER, 2),
        READ(GICR_PROPBASER, 8),
        WRITE(GICR_PROPBASER, 8, ~0ul),
        WRITE(GICR_PENDBASER, 8, ~0ul),
        WRITE(GICR_WAKER, 1, 2),
        READ(SGI_FRAME + GIC_ISENABLER, 1),
        WRITE(SGI_FRAME + GIC_ISENABLER, 8, ~0ul),
        WRITE(SGI_FRAME + GIC_IPRIORITYR, 2, 0xa0a0),
    };

    (void)state;
    for (size_t i = 0; i < sizeof(wrong) / sizeof(wrong[0]); i++) {
        uint64_t value = machine_redistributor_access(1, wrong[i], ACCESS_REFUSED);

        assert_true(wrong[i].write || value == 0);
    }
    assert_int_equal(made.gic.writes, 0);
}

static void test_private(void **state)
{
    struct gic_bank *bank = &made.gic.redistributors[0].bank; /* of VCPU 1 */

    (void)state;
    bank->groups[0] = GUEST;
    bank->enabled[0] = 1u << 15 | 1u << 26;
    write(SGI_FRAME + GIC_ICENABLER, 4, UINT32_MAX, ACCESS_REFUSED);
    assert_int_equal(bank->enabled[0], 1u << 15 | 1u << 26);
    write(SGI_FRAME + GIC_ISENABLER, 4, 1u << 27 | 1, ACCESS_DONE);
    assert_int_equal(read(1, SGI_FRAME + GIC_ICENABLER, 4), 1u << 27 | 1);
    assert_int_equal(bank->enabled[0], 1u << 15 | 1u << 26 | 1u << 27 | 1);
    write(SGI_FRAME + GIC_ISPENDR, 4, 1u << 26, ACCESS_REFUSED);
    assert_int_equal(bank->pending[0], 0);
    assert_int_equal(read(1, SGI_FRAME + GIC_IGROUPR, 4), GUEST);
    write(SGI_FRAME + GIC_IGROUPR, 4, UINT32_MAX, ACCESS_REFUSED);
    write(SGI_FRAME + GIC_IGROUPR, 4, 0, ACCESS_DONE);
    bank->triggers[0] = bank->triggers[1] = 0xaaaaaaaa;
    assert_int_equal(read(1, SGI_FRAME + GIC_ICFGR, 4), 0x2aaaaaaa);
    write(SGI_FRAME + GIC_ICFGR + 4, 4, 0, ACCESS_REFUSED);
    bank->priorities[25] = 1;
    write(SGI_FRAME + GIC_IPRIORITYR + 24, 4, 0xa0a0a0a0, ACCESS_REFUSED);
    assert_int_equal(bank->priorities[25], 1);
    assert_int_equal(bank->priorities[26], 0);
    assert_int_equal(read(1, SGI_FRAME + GIC_IPRIORITYR + 24, 4), 0xa00000a0);
    write(SGI_FRAME + GIC_IPRIORITYR + 27, 1, 0x20, ACCESS_DONE);
    assert_int_equal(bank->priorities[27], 0x80);
    /* Registers for more than 32 private interrupts are absent. */
    assert_int_equal(read(1, SGI_FRAME + GIC_ISENABLER + 4, 4), 0);
    write(SGI_FRAME + GIC_ISENABLER + 4, 4, 1, ACCESS_REFUSED);
    write(SGI_FRAME + GIC_IPRIORITYR + 32, 4, 0xa0a0a0a0, ACCESS_REFUSED);
    assert_int_equal(read(1, SGI_FRAME + GICD_CTLR, 4), 0);
    assert_int_equal(bank->enabled[1], 0);
    assert_int_equal(made.gic.redistributors[1].bank.enabled[0], 0);
}

/* Checks the SGIs sent when VCPU 0 writes `value`. */
static void check_sent(uint64_t value, enum access_result result, const uint64_t *expected,
                       unsigned count)
{
    made.group1_count = 0;
    assert_int_equal(sgi_send(&machine_partition, 0, value), result);
    assert_int_equal(made.group1_count, count);
    for (unsigned i = 0; i < count; i++) {
        assert_int_equal(made.group1[i], expected[i]);
    }
}

/* VCPUs 0, 1 and 2 are on core 1, core 0 and the far core. */
static void test_sgi(void **state)
{
    const uint64_t far = machine_sgi_target(3);
    const uint64_t near[] = {NUMBER(3) | 2, NUMBER(3) | 1};
    const uint64_t others[] = {NUMBER(14) | 1, NUMBER(14) | far};
    const uint64_t alone[] = {far};

    (void)state;
    assert_int_equal(far, UINT64_C(0x0007100200030004));
    check_sent(NUMBER(3) | 3, ACCESS_DONE, near, 2);
    check_sent(NUMBER(3) | 0xb, ACCESS_REFUSED, near, 2); /* there is no VCPU 3 */
    check_sent(NUMBER(3) | 8, ACCESS_REFUSED, near, 0);
    check_sent(NUMBER(3) | 1u << 16 | 1, ACCESS_REFUSED, near, 0);
    check_sent(NUMBER(3), ACCESS_DONE, near, 0);
    check_sent(NUMBER(14) | ALL_BUT_SELF | 0xffff, ACCESS_DONE, others, 2);
    check_sent(4, ACCESS_DONE, alone, 1);
    check_sent(0xfffc, ACCESS_REFUSED, alone, 1);
    check_sent(far, ACCESS_REFUSED, near, 0); /* the core's affinity */
    check_sent(UINT64_C(1) << 44 | 4, ACCESS_REFUSED, near, 0);
    check_sent(UINT64_C(1) << 48 | 4, ACCESS_REFUSED, near, 0);
    /* Reserved bits have no effect. */
    check_sent(NUMBER(3) | 3 | UINT64_C(0xff000e00f0000000), ACCESS_DONE, near, 2);
    /* The SGI of the monitors. */
    check_sent(NUMBER(15) | 1, ACCESS_REFUSED, near, 0);
    check_sent(NUMBER(15) | ALL_BUT_SELF, ACCESS_REFUSED, near, 0);
}

static void test_message(void **state)
{
    (void)state;
    machine_system.partitions[0].vcpus[1].core = 4;
    gic_send(&machine_partition, 2);
    gic_send(&machine_partition, 1);
    assert_int_equal(made.group0_count, 2);
    assert_int_equal(made.group0[0], NUMBER(15) | machine_sgi_target(3));
    assert_int_equal(made.group0[1], NUMBER(15) | 1u << 16 | 1);
    assert_int_equal(made.group1_count, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_frame, setup),
        cmocka_unit_test_setup(test_frames_follow_each_other, setup),
        cmocka_unit_test_setup(test_frames_in_two_regions, setup),
        cmocka_unit_test_setup(test_no_registers_around_the_frames, setup),
        cmocka_unit_test_setup(test_sizes, setup),
        cmocka_unit_test_setup(test_private, setup),
        cmocka_unit_test_setup(test_sgi, setup),
        cmocka_unit_test_setup(test_message, setup),
    };

    return cmocka_run_group_tests_name("redistributor", tests, NULL, NULL);
}
