/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the decoding of a trapped access from its syndrome (Arm ARM, ISS encoding for a Data
 * Abort). */
#include "entry/syndrome.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

/* Valid, translation fault at level 3. */
#define ABORT     (UINT64_C(0x24) << 26 | UINT64_C(1) << 24 | 0x07)
#define SIZE(log) ((uint64_t)(log) << 22)
#define INTO(x)   ((uint64_t)(x) << 16)
#define SIGNED    (UINT64_C(1) << 21)
#define WIDE      (UINT64_C(1) << 15)
#define WRITE     (UINT64_C(1) << 6)

static void test_size_direction_and_register(void **state)
{
    struct access access;
    unsigned target;

    (void)state;
    for (unsigned log = 0; log < 4; log++) {
        assert_true(syndrome_access(ABORT | SIZE(log) | INTO(7) | WRITE, &access, &target));
        assert_int_equal(access.bytes, 1u << log);
        assert_true(access.write);
        assert_int_equal(target, 7);
    }
    assert_true(syndrome_access(ABORT | SIZE(2) | INTO(31), &access, &target));
    assert_false(access.write);
    assert_int_equal(target, 31);
}

static void test_incomplete_syndromes_are_rejected(void **state)
{
    struct access access;
    unsigned target;

    (void)state;
    assert_false(syndrome_access(ABORT & ~(UINT64_C(1) << 24), &access, &target));
    assert_false(syndrome_access(ABORT | UINT64_C(1) << 7, &access, &target)); /* table walk */
    assert_false(syndrome_access(ABORT | UINT64_C(1) << 8, &access, &target)); /* cache operation */
    assert_false(
        syndrome_access((ABORT & ~UINT64_C(0x3f)) | 0x0f, &access, &target)); /* permission */
    assert_false(
        syndrome_access((ABORT & ~UINT64_C(0x3f)) | 0x21, &access, &target)); /* alignment */
}

static void test_faults_with_an_address(void **state)
{
    const uint64_t abort = ABORT & ~UINT64_C(0x3f), fetch = UINT64_C(0x20) << 26;

    (void)state;
    for (unsigned level = 0; level < 4; level++) {
        assert_true(syndrome_has_address(abort | 0x00 | level)); /* address size */
        assert_true(syndrome_has_address(abort | 0x04 | level)); /* translation */
        assert_true(syndrome_has_address(fetch | 0x04 | level));
        assert_true(syndrome_has_address(abort | 0x08 | level));  /* access flag */
        assert_false(syndrome_has_address(abort | 0x0c | level)); /* permission */
        assert_false(syndrome_has_address(fetch | 0x0c | level));
        assert_true(syndrome_has_address(abort | 0x0c | level | UINT64_C(1) << 7)); /* table walk */
    }
    assert_false(syndrome_has_address(abort | 0x10));         /* external abort */
    assert_false(syndrome_has_address(abort | 0x21));         /* alignment */
    assert_false(syndrome_has_address(UINT64_C(0x0e) << 26)); /* illegal execution state */
    assert_false(syndrome_has_address(UINT64_C(0x2f) << 26)); /* SError */
}

static void test_faults_of_mapped_addresses(void **state)
{
    const uint64_t abort = ABORT & ~UINT64_C(0x3f), fetch = UINT64_C(0x20) << 26;
    uint64_t found = 0;

    (void)state;
    for (unsigned status = 0; status < 64; status++) {
        if (syndrome_is_of_mapped_address(abort | status)) {
            found |= UINT64_C(1) << status;
        }
    }
    /* Permission at each level, alignment, and an unsupported exclusive or atomic access. */
    assert_int_equal(found, UINT64_C(0xf) << 0x0c | UINT64_C(1) << 0x21 | UINT64_C(1) << 0x35);
    assert_true(syndrome_is_of_mapped_address(fetch | 0x0f));
    assert_false(syndrome_is_of_mapped_address(fetch | 0x07));
}

static void test_result_of_a_load(void **state)
{
    (void)state;
    assert_int_equal(syndrome_loaded(ABORT | SIZE(0), 0x80), 0x80);
    assert_int_equal(syndrome_loaded(ABORT | SIZE(0) | SIGNED, 0x80), 0xffffff80);
    assert_int_equal(syndrome_loaded(ABORT | SIZE(0) | SIGNED | WIDE, 0x80),
                     UINT64_C(0xffffffffffffff80));
    assert_int_equal(syndrome_loaded(ABORT | SIZE(1) | SIGNED | WIDE, 0x7fff), 0x7fff);
    assert_int_equal(syndrome_loaded(ABORT | SIZE(2) | SIGNED | WIDE, 0x80000000),
                     UINT64_C(0xffffffff80000000));
    assert_int_equal(syndrome_loaded(ABORT | SIZE(3) | WIDE, UINT64_MAX), UINT64_MAX);
    assert_int_equal(syndrome_loaded(ABORT | SIZE(3) | SIGNED | WIDE, UINT64_MAX), UINT64_MAX);
}

#define DATA        (UINT64_C(0x24) << 26)
#define INSTRUCTION (UINT64_C(0x20) << 26)
#define IL          (UINT64_C(1) << 25)
#define EL1H        UINT64_C(5)
#define EL1T        UINT64_C(4)
#define EL0T        UINT64_C(0)
#define EL0_32      UINT64_C(0x10)

static void test_external_abort_for_the_guest(void **state)
{
    /* ISV, SAS, SRT and the translation fault are cleared; WnR, CM and IL stay. */
    uint64_t load = DATA | IL | UINT64_C(0x93) << 16 | 0x07;

    (void)state;
    assert_int_equal(syndrome_external_abort(load, EL1H), 0x96000010);
    assert_int_equal(syndrome_external_abort(load, EL1T), 0x96000010);
    assert_int_equal(syndrome_external_abort(load, EL0T), 0x92000010);
    assert_int_equal(syndrome_external_abort(load, EL0_32), 0x92000010);
    assert_int_equal(syndrome_external_abort(load | 1u << 6, EL1H), 0x96000050);
    assert_int_equal(syndrome_external_abort(load | 1u << 8 | 1u << 6, EL1H), 0x96000150);
    assert_int_equal(syndrome_external_abort(load & ~IL, EL0_32), 0x90000010); /* Thumb */
    assert_int_equal(syndrome_external_abort(INSTRUCTION | IL | 0x06, EL1H), 0x86000010);
    assert_int_equal(syndrome_external_abort(INSTRUCTION | IL | 0x0f, EL0T), 0x82000010);
    assert_true(syndrome_of_table_walk(ABORT | 1u << 7));
    assert_false(syndrome_of_table_walk(ABORT));
}

/* By CRn and op1: all TLB maintenance of EL1, and neither EL2's nor address translation. */
static void test_tlb_maintenance(void **state)
{
    (void)state;
    for (unsigned crm = 0; crm < 16; crm++) {
        for (unsigned op2 = 0; op2 < 8; op2++) {
            assert_true(REGISTER_IS_TLBI(REGISTER_NAME(1u, 0u, 8u, crm, op2)));
            assert_true(REGISTER_IS_TLBI(REGISTER_NAME(1u, 0u, 9u, crm, op2)));
            assert_false(REGISTER_IS_TLBI(REGISTER_NAME(1u, 0u, 7u, crm, op2)));
            assert_false(REGISTER_IS_TLBI(REGISTER_NAME(1u, 0u, 10u, crm, op2)));
            assert_false(REGISTER_IS_TLBI(REGISTER_NAME(1u, 4u, 8u, crm, op2)));
            assert_false(REGISTER_IS_TLBI(REGISTER_NAME(3u, 0u, 8u, crm, op2)));
        }
    }
    assert_false(REGISTER_IS_TLBI(REGISTER_IC_IALLUIS));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_size_direction_and_register),
        cmocka_unit_test(test_incomplete_syndromes_are_rejected),
        cmocka_unit_test(test_faults_with_an_address),
        cmocka_unit_test(test_faults_of_mapped_addresses),
        cmocka_unit_test(test_result_of_a_load),
        cmocka_unit_test(test_external_abort_for_the_guest),
        cmocka_unit_test(test_tlb_maintenance),
    };

    return cmocka_run_group_tests_name("syndrome", tests, NULL, NULL);
}
