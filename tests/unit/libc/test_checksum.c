/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the C versions of the functions that libc/arm64 has in assembly. */
#include "kernel_fixture.h"
#include "libc/internet_checksum.h"
#include "memory_checks.h"
#include "tested_libc.h"
#include <string.h>

static void test_portable_functions(void **state)
{
    static const struct memory_functions functions = {
        .copy = tested_memcpy,
        .move = tested_memmove,
        .set = tested_memset,
        .compare = tested_memcmp,
        .checksum = internet_checksum,
        .checksum_copy = internet_checksum_copy,
    };
    const char *wrong = memory_checks(&functions);

    (void)state;
    if (wrong != NULL) {
        fail_msg("%s", wrong);
    }
}

/* Tests the checks themselves: they must find typical errors. */
static void *careless_copy(void *destination, const void *source, size_t bytes)
{
    return tested_memcpy(destination, source, bytes > 64 ? (bytes + 7) & ~(size_t)7 : bytes);
}

static void *upwards_only(void *destination, const void *source, size_t bytes)
{
    uint8_t *to = destination;
    const uint8_t *from = source;

    for (size_t i = 0; i < bytes; i++) {
        to[i] = from[i];
    }
    return destination;
}

static uint16_t careless_checksum(const void *data, size_t bytes)
{
    return internet_checksum(data, bytes & ~(size_t)1);
}

static void test_checks_find_errors(void **state)
{
    struct memory_functions functions = {
        .copy = careless_copy,
        .move = tested_memmove,
        .set = tested_memset,
        .compare = tested_memcmp,
        .checksum = internet_checksum,
    };

    (void)state;
    assert_string_equal(memory_checks(&functions), "memcpy");
    functions.copy = tested_memcpy;
    functions.move = upwards_only;
    assert_string_equal(memory_checks(&functions), "memmove upwards");
    functions.move = tested_memmove;
    functions.checksum = careless_checksum;
    assert_string_equal(memory_checks(&functions), "internet_checksum");
}

/* The worked example of RFC 1071, 3. */
static void test_example_of_the_standard(void **state)
{
    const uint8_t data[] = {0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7};
    uint8_t field[2];
    uint16_t sum = internet_checksum(data, sizeof(data));

    (void)state;
    memcpy(field, &sum, 2);
    assert_int_equal(field[0], 0xdd);
    assert_int_equal(field[1], 0xf2);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_portable_functions),
        cmocka_unit_test(test_checks_find_errors),
        cmocka_unit_test(test_example_of_the_standard),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
