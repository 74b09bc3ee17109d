/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the TRNG calls of guests (Arm DEN0098). */
#include "entropy/trng.h"

#include <arch/hypercalls.h>

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#define INVALID_PARAMETERS (-2)
#define UNTOUCHED          UINT64_C(0x5555555555555555)

static struct generator generator;
static uint64_t registers[4];

static int setup(void **state)
{
    (void)state;
    generator = (struct generator){.is_seeded = true};
    return 0;
}

static int64_t call(uint64_t function, uint64_t first)
{
    registers[0] = function;
    registers[1] = first;
    registers[2] = UNTOUCHED;
    registers[3] = UNTOUCHED;
    return trng_call(&generator, registers);
}

static void test_discovery(void **state)
{
    static const uint32_t functions[] = {CALL_TRNG_VERSION, CALL_TRNG_FEATURES, CALL_TRNG_GET_UUID,
                                         CALL_TRNG_RND32, CALL_TRNG_RND64};

    (void)state;
    assert_int_equal(call(CALL_TRNG_VERSION, 0), 0x10000);
    for (size_t i = 0; i < sizeof(functions) / sizeof(functions[0]); i++) {
        assert_int_equal(call(CALL_TRNG_FEATURES, functions[i]), CALL_SUCCESS);
    }
    assert_int_equal(call(CALL_TRNG_FEATURES, 0x84000054), CALL_NOT_SUPPORTED);
    assert_int_equal(call(CALL_TRNG_FEATURES, PSCI_VERSION), CALL_NOT_SUPPORTED);
    assert_int_equal(call(CALL_TRNG_VERSION | CALL_64, 0), CALL_NOT_SUPPORTED);
    /* -1 would mean that there is no such call. */
    assert_true(call(CALL_TRNG_GET_UUID, 0) > 0);
    assert_true(registers[1] <= UINT32_MAX && registers[2] <= UINT32_MAX);
}

static void test_sizes(void **state)
{
    (void)state;
    assert_int_equal(call(CALL_TRNG_RND64, 0), INVALID_PARAMETERS);
    assert_int_equal(call(CALL_TRNG_RND64, 193), INVALID_PARAMETERS);
    assert_int_equal(call(CALL_TRNG_RND64, UINT64_MAX), INVALID_PARAMETERS);
    assert_int_equal(call(CALL_TRNG_RND32, 0), INVALID_PARAMETERS);
    assert_int_equal(call(CALL_TRNG_RND32, 97), INVALID_PARAMETERS);
    assert_true(registers[2] == UNTOUCHED && registers[3] == UNTOUCHED);
    assert_int_equal(call(CALL_TRNG_RND32, UINT64_C(0x100000000) + 96), CALL_SUCCESS);
}

/* All bits but those asked for are 0; X3 has the lowest. Each of those asked for is 1 in some
 * call. */
static void check_bits(uint64_t function, unsigned width)
{
    for (unsigned bits = 1; bits <= 3 * width; bits++) {
        uint64_t seen[4] = {0};

        for (unsigned repeat = 0; repeat < 64; repeat++) {
            assert_int_equal(call(function, bits), CALL_SUCCESS);
            for (unsigned i = 1; i < 4; i++) {
                seen[i] |= registers[i];
            }
        }
        for (unsigned i = 1; i < 4; i++) {
            unsigned below = (3 - i) * width;
            unsigned count = bits <= below ? 0 : bits - below < width ? bits - below : width;

            assert_int_equal(seen[i], count == 64 ? UINT64_MAX : (UINT64_C(1) << count) - 1);
        }
    }
}

static void test_bits(void **state)
{
    (void)state;
    check_bits(CALL_TRNG_RND64, 64);
    check_bits(CALL_TRNG_RND32, 32);
}

/* Without a source of entropy no call exists, and nothing is computed. */
static void test_without_entropy(void **state)
{
    static const struct generator none;

    (void)state;
    generator.is_seeded = false;
    assert_int_equal(call(CALL_TRNG_VERSION, 0), CALL_NOT_SUPPORTED);
    assert_int_equal(call(CALL_TRNG_RND64, 64), CALL_NOT_SUPPORTED);
    assert_int_equal(call(CALL_TRNG_FEATURES, CALL_TRNG_RND64), CALL_NOT_SUPPORTED);
    assert_int_equal(registers[2], UNTOUCHED);
    assert_memory_equal(generator.key, none.key, sizeof(none.key));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(test_discovery, setup),
        cmocka_unit_test_setup(test_sizes, setup),
        cmocka_unit_test_setup(test_bits, setup),
        cmocka_unit_test_setup(test_without_entropy, setup),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
