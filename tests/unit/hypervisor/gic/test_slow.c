/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A GIC that takes long until a write that disables interrupts has taken effect (IHI 0069,
 * GICD_CTLR.RWP, GICR_CTLR.RWP): each wait for it ends after a fixed number of polls, and has the
 * consequence that docs/waits.md names. hypervisor_neighbour does the same with the waits in a
 * change between VCPUs.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "gic/muted.h"
#include "gic/setup.h"
#include "machine.h"
#include "slow.h"
#include <devices/gic_registers.h>

#define OWN_FRAME 0u /* the guest finds the Redistributor of its VCPU 0 first */
#define SGI_FRAME GIC_FRAME_BYTES
#define SPI       33u
#define WORD      (SPI / 32)
#define BIT       (1u << SPI % 32)

static struct machine made;

static int setup(void **state)
{
    (void)state;
    machine_reset(&made);
    machine_partition.constant.is_listed = true;
    return 0;
}

/* An entry that waits for the GIC. Returns false if it reports that the GIC has not settled. */
struct waiter {
    const char *name;
    bool (*enter)(void);
    bool tells; /* if the GIC has not settled */
};

static bool reset_partition(void)
{
    uint32_t group = 0;

    return gic_reset_partition(&machine_partition, &group) == STEP_PENDING;
}

static bool reset_core(void)
{
    machine_partition.atomic.is_unsettled = 0;
    gic_reset_core(&machine_vcpu);
    return machine_partition.atomic.is_unsettled == 0;
}

static bool disable_spi(void)
{
    (void)machine_distributor_access(WRITE(GIC_ICENABLER + 4 * WORD, 4, BIT), ACCESS_DONE);
    assert_int_equal(made.gic.distributor.enabled[WORD] & BIT, 0);
    return true;
}

static bool disable_private(void)
{
    (void)machine_redistributor_access(OWN_FRAME, WRITE(SGI_FRAME + GIC_ICENABLER, 4, 1),
                                       ACCESS_DONE);
    return true;
}

static bool mute(void)
{
    made.gic.distributor.enabled[WORD] |= BIT;
    muted_add(&machine_vcpu, SPI);
    assert_int_equal(made.gic.distributor.enabled[WORD] & BIT, 0);
    assert_true(muted_has(&machine_partition, SPI));
    return true;
}

static const struct waiter waiters[] = {
    {"a step of the reset of a partition", reset_partition, true},
    {"the reset of a core", reset_core, true},
    {"a guest that disables an SPI", disable_spi, false},
    {"a guest that disables an SGI", disable_private, false},
    {"a mute", mute, false},
};
#define WAITERS (sizeof(waiters) / sizeof(waiters[0]))

/* Enters once. RWP is set for so many reads. Returns the number of polls. */
static unsigned polls_of(const struct waiter *waiter, unsigned reads, bool settles)
{
    made.gic.settling_reads = reads;
    made.gic.control_reads = 0;
    assert_int_equal(waiter->enter(), settles || !waiter->tells);
    return made.gic.control_reads;
}

static void test_each_wait_ends(void **state)
{
    (void)state;
    for (unsigned i = 0; i < WAITERS; i++) {
        for (unsigned k = 0; k < SLOW_CASES; k++) {
            unsigned reads = slow_cases[k];
            bool settles = reads < SLOW_POLLS;

            print_message("%s, %u reads\n", waiters[i].name, reads);
            (void)setup(state);
            assert_int_equal(polls_of(&waiters[i], 0, true), 1);
            assert_int_equal(polls_of(&waiters[i], reads, settles),
                             settles ? reads + 1 : SLOW_POLLS);
            if (!settles) { /* a later entry waits less, whatever it waits for */
                assert_int_equal(polls_of(&waiters[(i + 1) % WAITERS], SLOW_FOREVER, false),
                                 SLOW_POLLS_STUCK);
            }
            assert_int_equal(polls_of(&waiters[i], 0, true), 1);
        }
    }
}

/* After one wait in vain, a GIC that answers soon is not taken for one that does not answer, and
 * the one after that is waited for as long as ever. */
static void test_slow_once(void **state)
{
    (void)state;
    for (unsigned i = 0; i < WAITERS; i++) {
        (void)setup(state);
        assert_int_equal(polls_of(&waiters[i], SLOW_FOREVER, false), SLOW_POLLS);
        for (unsigned n = 0; n < 3; n++) {
            assert_int_equal(polls_of(&waiters[i], 5, true), 6);
        }
        assert_int_equal(polls_of(&waiters[i], SLOW_POLLS - 1, true), SLOW_POLLS);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_each_wait_ends, setup),
        cmocka_unit_test_setup(test_slow_once, setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
