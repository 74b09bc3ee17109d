/* SPDX-License-Identifier: BSD-2-Clause */
/* An exception that the guest takes in place of a stop (Arm ARM, "Exception entry", ESR_EL1). */
#include "monitor/inject.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#define DATA        (UINT64_C(0x24) << 26)
#define INSTRUCTION (UINT64_C(0x20) << 26)
#define IL          (UINT64_C(1) << 25)
#define EL1H        UINT64_C(5)
#define EL1T        UINT64_C(4)
#define EL0T        UINT64_C(0)
#define EL0_32      UINT64_C(0x10)

static void test_syndrome(void **state)
{
    /* ISV, SAS, SRT and the translation fault go; WnR, CM and IL stay. */
    uint64_t load = DATA | IL | UINT64_C(0x93) << 16 | 0x07;

    (void)state;
    assert_int_equal(inject_abort_syndrome(load, EL1H), 0x96000010);
    assert_int_equal(inject_abort_syndrome(load, EL1T), 0x96000010);
    assert_int_equal(inject_abort_syndrome(load, EL0T), 0x92000010);
    assert_int_equal(inject_abort_syndrome(load, EL0_32), 0x92000010);
    assert_int_equal(inject_abort_syndrome(load | 1u << 6, EL1H), 0x96000050);
    assert_int_equal(inject_abort_syndrome(load | 1u << 8 | 1u << 6, EL1H), 0x96000150);
    assert_int_equal(inject_abort_syndrome(load & ~IL, EL0_32), 0x90000010); /* Thumb */
    assert_int_equal(inject_abort_syndrome(INSTRUCTION | IL | 0x06, EL1H), 0x86000010);
    assert_int_equal(inject_abort_syndrome(INSTRUCTION | IL | 0x0f, EL0T), 0x82000010);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_syndrome),
    };

    return cmocka_run_group_tests_name("inject", tests, NULL, NULL);
}
