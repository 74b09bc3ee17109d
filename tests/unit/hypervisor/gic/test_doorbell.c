/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests doorbells on the model of the GIC. A write to anything but the pending bit of the doorbell
 * ends the test. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "gic/doorbell.h"
#include "machine.h"
#include <devices/gic_registers.h>
#include <string.h>

#define DOORBELL 41u /* the second partition's */

static struct machine made;
static uint32_t doorbell;

static void watch(const struct gic *gic, const struct gic_access *access)
{
    uint32_t word = doorbell / 32 * 4;

    (void)gic;
    gic_model_require(access->frame == GIC_DISTRIBUTOR, "only the Distributor is accessed",
                      access->address);
    if (access->write) {
        gic_model_require(access->offset == GIC_ISPENDR + word, "only GICD_ISPENDR is written",
                          access->address);
        gic_model_require(access->value == UINT32_C(1) << doorbell % 32,
                          "only the doorbell becomes pending", access->address);
    } else {
        gic_model_require(access->offset == GIC_ISENABLER + word, "only GICD_ISENABLER is read",
                          access->address);
    }
}

static int setup(void **state)
{
    (void)state;
    machine_reset(&made);
    made.gic.watch = watch;
    doorbell = DOORBELL;
    return 0;
}

static void set(uint32_t *words, uint32_t interrupt)
{
    words[interrupt / 32] |= UINT32_C(1) << interrupt % 32;
}

static void test_enabled(void **state)
{
    struct gic_bank *bank = &made.gic.distributor;

    (void)state;
    set(bank->enabled, DOORBELL);
    doorbell_ring(&machine_system, DOORBELL);
    assert_int_equal(bank->pending[1], UINT32_C(1) << DOORBELL % 32);
    assert_int_equal(made.gic.writes, 1);
}

/* The interrupts of other partitions, which are all enabled, stay as they are. */
static void test_disabled(void **state)
{
    struct gic_bank *bank = &made.gic.distributor;

    (void)state;
    memset(bank->enabled, 0xff, sizeof(bank->enabled));
    bank->enabled[1] &= ~(UINT32_C(1) << DOORBELL % 32);
    doorbell_ring(&machine_system, DOORBELL);
    assert_int_equal(made.gic.reads, 1);
    assert_int_equal(made.gic.writes, 0);
    assert_int_equal(bank->pending[1], 0);
}

static void test_active(void **state)
{
    struct gic_bank *bank = &made.gic.distributor;

    (void)state;
    set(bank->enabled, DOORBELL);
    set(bank->active, DOORBELL);
    doorbell_ring(&machine_system, DOORBELL);
    assert_int_equal(bank->pending[1], UINT32_C(1) << DOORBELL % 32);
    assert_int_equal(bank->active[1], UINT32_C(1) << DOORBELL % 32);
}

static void test_last(void **state)
{
    (void)state;
    doorbell = 1019;
    set(made.gic.distributor.enabled, doorbell);
    doorbell_ring(&machine_system, doorbell);
    assert_int_equal(made.gic.distributor.pending[31], 1u << 27);
}

static void test_none(void **state)
{
    (void)state;
    memset(made.gic.distributor.enabled, 0xff, sizeof(made.gic.distributor.enabled));
    doorbell_ring(&machine_system, 0);
    assert_int_equal(made.gic.reads + made.gic.writes, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_enabled, setup), cmocka_unit_test_setup(test_disabled, setup),
        cmocka_unit_test_setup(test_active, setup),  cmocka_unit_test_setup(test_last, setup),
        cmocka_unit_test_setup(test_none, setup),
    };

    return cmocka_run_group_tests_name("doorbell", tests, NULL, NULL);
}
