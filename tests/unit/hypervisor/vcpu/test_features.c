/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the ID registers that a guest sees, and the EL2 controls for features that it does not see
 * (Arm ARM, the ID registers, HCR_EL2, CPTR_EL2, MDCR_EL2, HFGRTR_EL2 and the other fine-grained
 * traps). */
#include "vcpu/controls.h"
#include "vcpu/features.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define ALL UINT64_MAX
#define BIT CONTROL_BIT

static void test_fields_are_limited_to_known_values(void **state)
{
    (void)state;
    /* CSV3, CSV2, DIT, GIC, AdvSIMD and FP (15: not implemented), EL2, EL1, EL0; nothing else. A
     * guest that reads no EL2 takes EL1 for the highest Exception level, and may write
     * CNTFRQ_EL0. */
    assert_int_equal(features_shown(ID_AA64PFR0_EL1, ALL), UINT64_C(0x1101000001ff0112));
    assert_int_equal(features_shown(ID_AA64PFR0_EL1, 0x11112222), 0x01110112);
    assert_int_equal(features_shown(ID_AA64PFR1_EL1, ALL), 0x21);
    assert_int_equal(features_shown(ID_AA64MMFR2_EL1, ALL), UINT64_C(0x1021001110110111));
}

static void test_smaller_values_are_kept(void **state)
{
    (void)state;
    assert_int_equal(features_shown(ID_AA64ISAR0_EL1, UINT64_C(0x0000000000011120)),
                     UINT64_C(0x0000000000011120));
    assert_int_equal(features_shown(ID_AA64MMFR1_EL1, UINT64_C(0x0000000000101100)),
                     UINT64_C(0x0000000000101000));
}

static void test_signed_fields(void **state)
{
    (void)state;
    /* PMUVer: 8 is reduced to 6, 15 stays "not architectural". DoubleLock and MTPMU are never
     * shown. */
    assert_int_equal(features_shown(ID_AA64DFR0_EL1, 0x806), UINT64_C(0x000f00f000000606));
    assert_int_equal(features_shown(ID_AA64DFR0_EL1, 0xf06), UINT64_C(0x000f00f000000f06));
    assert_int_equal(features_shown(ID_AA64DFR0_EL1, 0), UINT64_C(0x000f00f000000000));
    assert_int_equal(features_shown(ID_DFR1_EL1, 0x11), 0xf);
    /* TGran4: 15 means not supported, 0 means supported. */
    assert_int_equal(features_shown(ID_AA64MMFR0_EL1, 0xff000000), 0xff000000);
    assert_int_equal(features_shown(ID_AA64MMFR0_EL1, 0), 0);
}

static void test_unknown_id_registers_read_as_zero(void **state)
{
    (void)state;
    for (unsigned crm = 4; crm < 8; crm++) {
        for (unsigned op2 = 4; op2 < 8;
             op2++) { /* ID_AA64ZFR0_EL1, SMFR0, AFR0, MMFR4 and others */
            assert_int_equal(features_shown(ID_REGISTER(crm, op2), ALL), 0);
        }
    }
    assert_int_equal(features_shown(ID_REGISTER(1u, 3u), ALL), 0); /* ID_AFR0_EL1 */
    assert_int_equal(features_shown(ID_REGISTER(5u, 1u), ALL), 0); /* ID_AA64DFR1_EL1 */
}

static void test_aarch32(void **state)
{
    (void)state;
    assert_int_equal(features_shown(ID_ISAR0_EL1, 0x02101110), 0x02101110);
    assert_int_equal(features_shown(MVFR0_EL1, 0x10110222), 0x10110222);
    /* RAS and AMU; virtualization and security; trace */
    assert_int_equal(features_shown(ID_PFR0_EL1, 0x11110131), 0x01010131);
    assert_int_equal(features_shown(ID_PFR1_EL1, 0x10011011), 0x10010001);
    assert_int_equal(features_shown(ID_DFR0_EL1, 0x13010066), 0x03000006);
    assert_int_equal(features_shown(ID_MMFR4_EL1, 0x21121111) & 0xf0000ff0, 0);
}

static void test_processor_without_features(void **state)
{
    const struct features none = {0};
    struct controls controls;

    (void)state;
    features_control(&none, &controls);
    assert_int_equal(controls.hcr, BIT(0) | BIT(1) | BIT(3) | BIT(5) | BIT(18) | BIT(19) | BIT(20) |
                                       BIT(21) | BIT(22) | BIT(31));
    assert_int_equal(controls.cptr, 0x33ff);
    assert_int_equal(controls.mdcr, BIT(10) | BIT(11));
    assert_int_equal(controls.hcrx | controls.mpam2 | controls.hfgrtr | controls.hfgwtr |
                         controls.hfgitr | controls.hdfgrtr | controls.hdfgwtr | controls.hafgrtr,
                     0);
}

static void test_each_hidden_feature_traps(void **state)
{
    const struct features all = {ALL, ALL, UINT64_C(0x00001f110000061f), ALL, ALL, ALL, ALL,
                                 6,   true};
    struct controls controls;

    (void)state;
    features_control(&all, &controls);
    assert_int_equal(controls.hcr & ~HCR_GUEST, BIT(35) | BIT(36) | BIT(40) | BIT(41) |
                                                    BIT(58)); /* pointer authentication too */
    assert_int_equal(controls.cptr, 0x33ff | BIT(20) | BIT(30));
    assert_int_equal(controls.mdcr, BIT(10) | BIT(11) | BIT(14) | BIT(17) | BIT(19) | BIT(23) | 6);
    assert_int_equal(controls.hcrx, BIT(11));
    assert_int_equal(controls.mpam2, BIT(48) | BIT(49) | BIT(58));
    assert_int_equal(controls.hfgrtr, UINT64_C(0x0003ff0000f80000));
    assert_int_equal(controls.hfgwtr, UINT64_C(0x0003ba0000d80000));
    assert_int_equal(controls.hfgitr, BIT(60) | BIT(62));
    assert_int_equal(controls.hdfgrtr, UINT64_C(0x81fdfb3fff800000));
    assert_int_equal(controls.hdfgwtr, UINT64_C(0x01f7763bbf800000));
    assert_int_equal(controls.hafgrtr, UINT64_C(0x0003fffffffe001f));
}

/* Bits with a name that starts with n trap while they are 0. */
static void test_bits_of_inverse_polarity_stay_clear(void **state)
{
    const struct features all = {ALL, ALL, ALL, ALL, ALL, ALL, ALL, 31, true};
    struct controls controls;

    (void)state;
    features_control(&all, &controls);
    assert_int_equal(controls.hfgrtr & CONTROL_BITS(50, 62), 0);
    assert_int_equal(controls.hfgwtr & CONTROL_BITS(50, 62), 0);
    assert_int_equal(controls.hfgitr & CONTROL_BITS(55, 59), 0);
    assert_int_equal(controls.hdfgrtr & CONTROL_BITS(59, 62), 0);
    assert_int_equal(controls.hdfgwtr & CONTROL_BITS(59, 62), 0);
}

/* Neither interrupts nor a guest's regular operations trap: WFI and WFE, TLB and cache maintenance,
 * FP, its PMU, its translation registers. */
static void test_regular_operations_do_not_trap(void **state)
{
    const struct features all = {ALL, ALL, ALL, ALL, ALL, ALL, ALL, 31, true};
    struct controls controls;

    (void)state;
    features_control(&all, &controls);
    assert_int_equal(controls.hcr &
                         (BIT(4) | BIT(13) | BIT(14) | BIT(23) | BIT(24) | BIT(25) | BIT(26) |
                          BIT(30) | BIT(49) | BIT(50) | BIT(52) | BIT(54) | BIT(55)),
                     0);
    assert_int_equal(controls.cptr & (BIT(10) | BIT(31)), 0);
    assert_int_equal(controls.mdcr & (BIT(5) | BIT(6) | BIT(9)), 0);
    assert_int_equal(controls.hdfgrtr & (CONTROL_BITS(0, 7) | CONTROL_BITS(12, 19)), 0);
    assert_int_equal(controls.hfgitr & CONTROL_BITS(0, 54), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fields_are_limited_to_known_values),
        cmocka_unit_test(test_smaller_values_are_kept),
        cmocka_unit_test(test_signed_fields),
        cmocka_unit_test(test_unknown_id_registers_read_as_zero),
        cmocka_unit_test(test_aarch32),
        cmocka_unit_test(test_processor_without_features),
        cmocka_unit_test(test_each_hidden_feature_traps),
        cmocka_unit_test(test_bits_of_inverse_polarity_stay_clear),
        cmocka_unit_test(test_regular_operations_do_not_trap),
    };

    return cmocka_run_group_tests_name("features", tests, NULL, NULL);
}
