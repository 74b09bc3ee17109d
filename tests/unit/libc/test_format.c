/* SPDX-License-Identifier: BSD-2-Clause */
/* Compares formatting with the host's snprintf: thousands of random conversions, and special
 * cases. */
#include "libc/format.h"

#include "kernel_fixture.h"
#include "tested_libc.h"
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>

/* Formats with both functions. It is not declared like printf(), because the formats are unusual on
 * purpose. */
static void compare(const char *format, ...)
{
    char ours[700];
    char theirs[700];
    va_list arguments;

    va_start(arguments, format);
    int our_count = tested_vsnprintf(ours, sizeof(ours), format, arguments);

    va_end(arguments);
    va_start(arguments, format);
    int their_count = vsnprintf(theirs, sizeof(theirs), format, arguments);

    va_end(arguments);
    assert_string_equal(ours, theirs);
    assert_int_equal(our_count, their_count);
}

static uint64_t random_state = 41;

static uint64_t any_below(uint64_t limit)
{
    return random_below(&random_state, limit);
}

/* Appends flags, width and precision. Returns the number of '*' in them, at most two. */
static int random_prefix(char *format, bool star)
{
    size_t length = 0;
    int stars = 0;

    format[length++] = '%';
    for (unsigned i = 0; i < 5; i++) {
        if (any_below(4) == 0) {
            format[length++] = "-0+ #"[i];
        }
    }
    if (star && any_below(3) == 0) {
        format[length++] = '*';
        stars++;
    } else if (any_below(2) == 0) {
        length += (size_t)sprintf(&format[length], "%u", (unsigned)any_below(45));
    }
    if (any_below(3) == 0) {
        format[length++] = '.';
        if (star && any_below(3) == 0) {
            format[length++] = '*';
            stars++;
        } else if (any_below(3) != 0) {
            length += (size_t)sprintf(&format[length], "%u", (unsigned)any_below(45));
        }
    }
    format[length] = '\0';
    return stars;
}

/* Formats integers of every magnitude and both signs. */
static uint64_t random_value(void)
{
    uint64_t value = any_below(8) == 0 ? 0 : random_next(&random_state) >> any_below(64);

    return any_below(2) == 0 ? value : -value;
}

static void test_random_integers(void **state)
{
    static const char *const lengths[] = {"", "hh", "h", "l", "ll", "z", "j", "t"};

    (void)state;
    for (unsigned i = 0; i < 40000; i++) {
        char format[64] = "<";
        int stars = random_prefix(&format[1], true);
        unsigned length = (unsigned)any_below(8);
        uint64_t value = random_value();
        int first = (int)any_below(90) - 45;
        int second = (int)any_below(60) - 15;

        (void)sprintf(&format[strlen(format)], "%s%c>", lengths[length], "diuxXo"[any_below(6)]);
        if (length >= 3) {
            if (stars == 0) {
                compare(format, value);
            } else if (stars == 1) {
                compare(format, first, value);
            } else {
                compare(format, first, second, value);
            }
        } else if (stars == 0) {
            compare(format, (int)value);
        } else if (stars == 1) {
            compare(format, first, (int)value);
        } else {
            compare(format, first, second, (int)value);
        }
    }
}

static void test_random_texts(void **state)
{
    static const char *const texts[] = {"", "a", "bulkhead",
                                        "a rather long text, longer than fields"};

    (void)state;
    for (unsigned i = 0; i < 20000; i++) {
        char format[128];
        size_t length;

        random_prefix(format, false);
        length = strlen(format);
        (void)sprintf(&format[length], "s|%%d|");
        random_prefix(&format[strlen(format)], false);
        (void)sprintf(&format[strlen(format)], "c %%%% ");
        const char *text = texts[any_below(4)];
        int number = (int)any_below(100);
        int character = 1 + (int)any_below(255);

        compare(format, text, number, character);
        random_prefix(format, false);
        (void)sprintf(&format[strlen(format)], "p");
        void *pointer = any_below(6) == 0 ? NULL : (void *)(uintptr_t)random_value();

        compare(format, pointer);
    }
}

static void test_corners(void **state)
{
    (void)state;
    compare("");
    compare("plain");
    compare("%s %.3s %.9s %10s|", NULL, NULL, NULL, NULL);
    compare("%d %d %ld %ld", INT_MAX, INT_MIN, LONG_MAX, LONG_MIN);
    compare("%" PRIu64 " %" PRIx64 " %" PRIo64, UINT64_MAX, UINT64_MAX, UINT64_MAX);
    compare("%.0d|%.0x|%#.0o|%#o|%#x|%+.0d|% .0d", 0, 0, 0, 0, 0, 0, 0);
    compare("%*d|%-*d|%.*d|%.*s", -7, 5, -7, 5, -3, 5, -1, "all");
    compare("%c%c%c", 'a', '\0', 'b');
    compare("%p %p", (void *)0x1234, NULL);
    compare("%500d|", 1);
    compare("%.300d|%-300s|", 7, "x");
    compare("%%|%5d%%", 3);
}

/* Conversions that do not exist are copied to the output and do no harm. */
static void test_unknown_conversions(void **state)
{
    char text[64];

    (void)state;
    assert_int_equal(tested_snprintf(text, sizeof(text), "a%yb%"), 5);
    assert_string_equal(text, "a%yb%");
    (void)tested_snprintf(text, sizeof(text), "%-08.3l");
    assert_string_equal(text, "%-08.3l");
    (void)tested_snprintf(text, sizeof(text), "%f %d", 7);
    assert_string_equal(text, "%f 7");
}

static void test_truncation(void **state)
{
    char text[16];

    (void)state;
    for (size_t room = 0; room <= sizeof(text); room++) {
        memset(text, 'x', sizeof(text));
        assert_int_equal(tested_snprintf(text, room, "%s-%d", "abcdef", 12345), 12);
        size_t kept = room > 12 ? 12 : room == 0 ? 0 : room - 1;

        assert_memory_equal(text, "abcdef-12345", kept);
        for (size_t i = kept + (room == 0 ? 0 : 1); i < sizeof(text); i++) {
            assert_int_equal(text[i], 'x');
        }
        assert_true(room == 0 || text[kept] == '\0');
    }
    assert_int_equal(tested_snprintf(NULL, 0, "%d", 42), 2);
}

static void count_calls(void *context, const char *text, size_t bytes)
{
    assert_true(bytes > 0);
    assert_non_null(text);
    *(size_t *)context += bytes;
}

static size_t count_format(size_t *seen, const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    size_t count = format_arguments(count_calls, seen, format, arguments);

    va_end(arguments);
    return count;
}

static void test_sink(void **state)
{
    size_t seen = 0;

    (void)state;
    assert_int_equal(count_format(&seen, "%s%s|%5d|", "", "ab", 3), 9);
    assert_int_equal(seen, 9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_integers), cmocka_unit_test(test_random_texts),
        cmocka_unit_test(test_corners),         cmocka_unit_test(test_unknown_conversions),
        cmocka_unit_test(test_truncation),      cmocka_unit_test(test_sink),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
