/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the state in which EL1 takes an exception (Arm ARM, AArch64.TakeException; "Exception
 * vectors"). */
#include "vcpu/undefined.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define EL0T    UINT64_C(0x0)
#define EL1T    UINT64_C(0x4)
#define EL1H    UINT64_C(0x5)
#define USER_32 UINT64_C(0x10)
#define TAKEN   UINT64_C(0x3c5) /* EL1h, all exceptions masked */

#define BTYPE   (UINT64_C(3) << 10)
#define SSBS    (UINT64_C(1) << 12)
#define ILLEGAL (UINT64_C(1) << 20)
#define STEP    (UINT64_C(1) << 21)
#define PAN     (UINT64_C(1) << 22)
#define UAO     (UINT64_C(1) << 23)
#define DIT     (UINT64_C(1) << 24)
#define TCO     (UINT64_C(1) << 25)
#define FLAGS   (UINT64_C(0xf) << 28)

#define SPAN  (UINT64_C(1) << 23) /* SCTLR_EL1 */
#define DSSBS (UINT64_C(1) << 44)

static const struct exception_context old = {.control = 0};

static void test_vectors(void **state)
{
    (void)state;
    assert_int_equal(exception_offset(EL1T | FLAGS), 0x000);
    assert_int_equal(exception_offset(EL1H | FLAGS), 0x200);
    assert_int_equal(exception_offset(EL0T | FLAGS), 0x400);
    assert_int_equal(exception_offset(USER_32), 0x600);
}

static void test_only_condition_flags_are_kept(void **state)
{
    (void)state;
    assert_int_equal(exception_state(EL0T, &old), TAKEN);
    assert_int_equal(exception_state(EL1H | FLAGS | DIT | PAN, &old), TAKEN | FLAGS | DIT | PAN);
    assert_int_equal(exception_state(EL1T | BTYPE | SSBS | ILLEGAL | STEP | UAO | TCO, &old),
                     TAKEN);
}

static void test_pan(void **state)
{
    const struct exception_context sets = {.has_pan = true},
                                   keeps = {.has_pan = true, .control = SPAN};

    (void)state;
    assert_int_equal(exception_state(EL0T, &sets), TAKEN | PAN);
    assert_int_equal(exception_state(EL0T, &keeps), TAKEN);
    assert_int_equal(exception_state(EL0T | PAN, &keeps), TAKEN | PAN);
}

static void test_ssbs_and_tco(void **state)
{
    const struct exception_context safe = {.has_ssbs = true},
                                   unsafe = {.has_ssbs = true, .control = DSSBS},
                                   absent = {.control = DSSBS},
                                   tags = {.has_allocation_tags = true};

    (void)state;
    assert_int_equal(exception_state(EL0T | SSBS, &safe), TAKEN);
    assert_int_equal(exception_state(EL0T, &unsafe), TAKEN | SSBS);
    assert_int_equal(exception_state(EL0T, &absent), TAKEN);
    assert_int_equal(exception_state(EL0T, &tags), TAKEN | TCO);
}

/* In AArch32's format bit 21 is DIT, and bit 24 is J. */
static void test_aarch32(void **state)
{
    (void)state;
    assert_int_equal(exception_state(USER_32 | STEP | FLAGS, &old), TAKEN | DIT | FLAGS);
    assert_int_equal(exception_state(USER_32 | DIT, &old), TAKEN);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_vectors), cmocka_unit_test(test_only_condition_flags_are_kept),
        cmocka_unit_test(test_pan),     cmocka_unit_test(test_ssbs_and_tco),
        cmocka_unit_test(test_aarch32),
    };

    return cmocka_run_group_tests_name("undefined", tests, NULL, NULL);
}
