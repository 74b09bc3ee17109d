/* SPDX-License-Identifier: BSD-2-Clause */
/* Compares our strings and number conversion with the host's. */
#include "kernel_fixture.h"
#include "tested_libc.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static int sign(int value)
{
    return (value > 0) - (value < 0);
}

/* Returns text of few different characters, so that parts of it repeat. */
static size_t random_text(uint64_t *random, char *text, size_t limit)
{
    static const char alphabet[] = "abA\xe9 ";
    size_t length = random_below(random, limit);

    for (size_t i = 0; i < length; i++) {
        text[i] = alphabet[random_below(random, sizeof(alphabet) - 1)];
    }
    text[length] = '\0';
    return length;
}

static void compare_searches(const char *a, const char *b, size_t limit)
{
    static const char sought[] = {'a', 'b', 'A', '\xe9', 'x', '\0'};

    assert_int_equal(tested_strlen(a), strlen(a));
    assert_int_equal(tested_strnlen(a, limit), strnlen(a, limit));
    assert_ptr_equal(tested_strstr(a, b), strstr(a, b));
    for (unsigned i = 0; i < sizeof(sought); i++) {
        assert_ptr_equal(tested_strchr(a, sought[i]), strchr(a, sought[i]));
        assert_ptr_equal(tested_strrchr(a, sought[i]), strrchr(a, sought[i]));
        assert_ptr_equal(tested_memchr(a, sought[i], strlen(a)), memchr(a, sought[i], strlen(a)));
    }
}

static void compare_orders(const char *a, const char *b, size_t limit)
{
    assert_int_equal(sign(tested_strcmp(a, b)), sign(strcmp(a, b)));
    assert_int_equal(sign(tested_strncmp(a, b, limit)), sign(strncmp(a, b, limit)));
    assert_int_equal(sign(tested_strcasecmp(a, b)), sign(strcasecmp(a, b)));
    assert_int_equal(sign(tested_strncasecmp(a, b, limit)), sign(strncasecmp(a, b, limit)));
}

static void compare_copies(const char *a, const char *b, size_t limit)
{
    char ours[80];
    char theirs[80];

    memset(ours, 'x', sizeof(ours));
    memset(theirs, 'x', sizeof(theirs));
    assert_ptr_equal(tested_strcpy(ours, a), ours);
    memcpy(theirs, a, strlen(a) + 1);
    assert_memory_equal(ours, theirs, sizeof(ours));
    assert_ptr_equal(tested_strcat(ours, b), ours);
    memcpy(theirs + strlen(a), b, strlen(b) + 1);
    assert_memory_equal(ours, theirs, sizeof(ours));
    assert_ptr_equal(tested_strncpy(ours, b, limit), ours);
    memset(theirs, 0, limit);
    memcpy(theirs, b, strnlen(b, limit));
    assert_memory_equal(ours, theirs, sizeof(ours));
}

static void test_against_host(void **state)
{
    uint64_t random = 31;
    char a[40];
    char b[40];

    (void)state;
    for (unsigned i = 0; i < 50000; i++) {
        size_t length = random_text(&random, a, sizeof(a));

        if (random_below(&random, 3) == 0) { /* equal up to some place */
            memcpy(b, a, length + 1);
            if (length > 0) {
                b[random_below(&random, length)] = "aA\0b"[random_below(&random, 4)];
            }
        } else {
            random_text(&random, b, random_below(&random, 2) == 0 ? 4 : sizeof(b));
        }
        size_t limit = random_below(&random, 45);

        compare_searches(a, b, limit);
        compare_orders(a, b, limit);
        compare_copies(a, b, limit);
    }
}

static void compare_numbers(const char *text, int base)
{
    char *our_end;
    char *their_end;

    assert_true(tested_strtol(text, &our_end, base) == strtol(text, &their_end, base));
    assert_ptr_equal(our_end, their_end);
    assert_true(tested_strtoul(text, &our_end, base) == strtoul(text, &their_end, base));
    assert_ptr_equal(our_end, their_end);
    assert_true(tested_strtol(text, NULL, base) == strtol(text, NULL, base));
}

static void test_numbers(void **state)
{
    static const char *const texts[] = {
        "",
        "0",
        "-",
        "+",
        " \t\n\v\f\r42",
        "-42x",
        "+17",
        "- 5",
        "0x",
        "0xg",
        "-0x1F",
        "0X1f",
        "08",
        "077",
        "zz",
        "9223372036854775807",
        "9223372036854775808",
        "-9223372036854775808",
        "-9223372036854775809",
        "18446744073709551615",
        "18446744073709551616",
        "-18446744073709551615",
        "-18446744073709551616",
        "0xffffffffffffffffff",
        "0xffffffffffffffffff00z",
        "0b11",
        "\2405", /* a no-break space is not white space */
    };
    static const int bases[] = {0, 2, 3, 8, 10, 16, 36};

    (void)state;
    for (unsigned i = 0; i < sizeof(texts) / sizeof(texts[0]); i++) {
        for (unsigned j = 0; j < sizeof(bases) / sizeof(bases[0]); j++) {
            compare_numbers(texts[i], bases[j]);
        }
        long value = strtol(texts[i], NULL, 10);

        if (value <= INT_MAX && value >= INT_MIN) {
            assert_int_equal(tested_atoi(texts[i]), value);
        }
    }
    assert_int_equal(tested_strtol("5", NULL, 1), 0);
    assert_int_equal(tested_strtol("5", NULL, 37), 0);
    assert_int_equal(tested_strtol("5", NULL, -1), 0);
}

static void test_random_numbers(void **state)
{
    uint64_t random = 37;

    (void)state;
    for (unsigned i = 0; i < 50000; i++) {
        char text[40];
        uint64_t value = random_next(&random) >> random_below(&random, 64);
        static const char *const formats[] = {"%llu",  "-%llu",  "0x%llx",
                                              "0%llo", "%lluqq", "%llu0"};

        (void)snprintf(text, sizeof(text), formats[random_below(&random, 6)],
                       (unsigned long long)value);
        compare_numbers(text, random_below(&random, 2) == 0 ? 0 : 10);
        compare_numbers(text, 2 + (int)random_below(&random, 35));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_against_host),
        cmocka_unit_test(test_numbers),
        cmocka_unit_test(test_random_numbers),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
