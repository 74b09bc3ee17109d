/* SPDX-License-Identifier: BSD-2-Clause */
/* Tests the format of the hypervisor's messages. */
#include "console/format.h"

#include <setjmp.h>
#include <stddef.h>

#include <cmocka.h>

#include <limits.h>
#include <stdio.h>
#include <string.h>

static char text[256];
static size_t length;

static void collect(char character)
{
    assert_true(length + 1 < sizeof(text));
    text[length] = character;
    length++;
    text[length] = '\0';
}

static void begin(void)
{
    length = 0;
    text[0] = '\0';
}

static const char *number(uint64_t value, unsigned base)
{
    begin();
    format_number(collect, value, base);
    return text;
}

__attribute__((format(printf, 1, 2))) static const char *message(const char *format, ...)
{
    va_list arguments;

    begin();
    va_start(arguments, format);
    format_message(collect, format, arguments);
    va_end(arguments);
    return text;
}

static void test_text(void **state)
{
    (void)state;
    begin();
    format_text(collect, "");
    assert_string_equal(text, "");
    format_text(collect, "100% as it is\r\n");
    assert_string_equal(text, "100% as it is\r\n");
}

static void test_numbers(void **state)
{
    (void)state;
    assert_string_equal(number(0, 10), "0");
    assert_string_equal(number(0, 16), "0");
    assert_string_equal(number(9, 10), "9");
    assert_string_equal(number(10, 10), "10");
    assert_string_equal(number(1000200, 10), "1000200");
    assert_string_equal(number(0xdeadbeef, 16), "deadbeef");
    assert_string_equal(number(UINT64_MAX, 10), "18446744073709551615");
    assert_string_equal(number(UINT64_MAX, 16), "ffffffffffffffff");
}

static void test_conversions(void **state)
{
    (void)state;
    assert_string_equal(message("is off"), "is off");
    assert_string_equal(message("%s", ""), "");
    assert_string_equal(message("%s: %u of %x", "core", UINT_MAX, 0x40u), "core: 4294967295 of 40");
    assert_string_equal(message("%lu%lx", ULONG_MAX, 0x80000000ul), "1844674407370955161580000000");
}

/* The arguments behind one are not affected by its size. */
static void test_order_of_arguments(void **state)
{
    (void)state;
    assert_string_equal(message("%u %lu %s %x %lx %s", 1u, 2ul, "three", 4u, 5ul, "six"),
                        "1 2 three 4 5 six");
}

static void test_random_numbers_are_those_of_printf(void **state)
{
    uint64_t value = 1;
    char expected[256];

    (void)state;
    for (unsigned i = 0; i < 1000; i++) {
        unsigned narrow = (unsigned)value;
        unsigned long wide = (unsigned long)value;

        value = value * UINT64_C(6364136223846793005) + 1442695040888963407u;
        (void)snprintf(expected, sizeof(expected), "%u %lu %x %lx", narrow, wide, narrow, wide);
        assert_string_equal(message("%u %lu %x %lx", narrow, wide, narrow, wide), expected);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_text),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_conversions),
        cmocka_unit_test(test_order_of_arguments),
        cmocka_unit_test(test_random_numbers_are_those_of_printf),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
