/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests which call of the firmware discards branch predictions, with models of firmware. */
#include "entry/branch_isolation.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>

#include <arch/hypercalls.h>
#include <cmocka.h>

#define NOT_SUPPORTED (-1)
#define CSV2(value)   ((uint64_t)(value) << 56 | 0x22)

/* A firmware. It must not be asked for a function that its version may not know. */
static struct firmware {
    int32_t psci, smccc; /* versions; smccc 0: before 1.1 */
    int32_t workaround_1, workaround_3;
} firmware;

static int32_t call(uint32_t function, uint32_t argument)
{
    if (function == PSCI_VERSION) {
        return firmware.psci;
    }
    if (function == PSCI_FEATURES && firmware.psci >= 0x10000) {
        return argument == CALL_SMCCC_VERSION && firmware.smccc != 0 ? 0 : NOT_SUPPORTED;
    }
    if (function == CALL_SMCCC_VERSION && firmware.smccc != 0) {
        return firmware.smccc;
    }
    if (function == CALL_SMCCC_ARCH_FEATURES && firmware.smccc >= 0x10001) {
        return argument == CALL_SMCCC_ARCH_WORKAROUND_1   ? firmware.workaround_1
               : argument == CALL_SMCCC_ARCH_WORKAROUND_3 ? firmware.workaround_3
                                                          : NOT_SUPPORTED;
    }
    abort();
}

static void expect(uint64_t pfr0, struct firmware with, uint32_t workaround, bool is_isolated)
{
    struct branch_isolation found;

    firmware = with;
    found = branch_isolation_find(pfr0, call);
    assert_int_equal(found.workaround, workaround);
    assert_int_equal(found.is_isolated, is_isolated);
}

static const struct firmware old = {0x2, 0, 0, 0};         /* PSCI 0.2 */
static const struct firmware without = {0x10001, 0, 0, 0}; /* before SMCCC 1.1 */
static const struct firmware smccc_1_0 = {0x10001, 0x10000, 0, 0};
static const struct firmware first = {0x10001, 0x10001, 0, NOT_SUPPORTED};
static const struct firmware both = {0x10001, 0x10002, 0, 0};
static const struct firmware not_needed = {0x10001, 0x10002, 1, 1};
static const struct firmware neither = {0x10001, 0x10002, NOT_SUPPORTED, NOT_SUPPORTED};

static void test_processor_without_isolation(void **state)
{
    (void)state;
    expect(CSV2(0), old, 0, false);
    expect(CSV2(0), without, 0, false);
    expect(CSV2(0), smccc_1_0, 0, false);
    expect(CSV2(0), neither, 0, false);
    expect(CSV2(0), first, CALL_SMCCC_ARCH_WORKAROUND_1, true);
    expect(CSV2(0), both, CALL_SMCCC_ARCH_WORKAROUND_3, true);
    expect(CSV2(0), not_needed, 0, true);
}

/* Branch targets are isolated, and the history may not be. */
static void test_processor_that_isolates_targets(void **state)
{
    (void)state;
    for (unsigned csv2 = 1; csv2 <= 2; csv2++) {
        expect(CSV2(csv2), old, 0, true);
        expect(CSV2(csv2), neither, 0, true);
        expect(CSV2(csv2), first, 0, true);
        expect(CSV2(csv2), not_needed, 0, true);
        expect(CSV2(csv2), both, CALL_SMCCC_ARCH_WORKAROUND_3, true);
    }
}

static void test_processor_that_isolates_all(void **state)
{
    (void)state;
    expect(CSV2(3), old, 0, true);
    expect(CSV2(3), both, 0, true);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_processor_without_isolation),
        cmocka_unit_test(test_processor_that_isolates_targets),
        cmocka_unit_test(test_processor_that_isolates_all),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
