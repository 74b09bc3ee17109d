/* SPDX-License-Identifier: BSD-2-Clause */
/* Conversions of doubles beside the host's snprintf: random ones of each kind, and the corners. */
#include "kernel_fixture.h"
#include "tested_libc.h"
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define TEXT_BYTES 2600

/* glibc 2.36 forgets the zeros of "%#g" if rounding carries into a digit that turns the style to e:
 * "1.e+06" for 999999.5. */
static bool is_host_mistake(const char *format, const char *theirs)
{
    return strchr(format, '#') != NULL && strpbrk(format, "gG") != NULL &&
           (strstr(theirs, "1.e+") != NULL || strstr(theirs, "1.E+") != NULL);
}

static void compare(const char *format, ...)
{
    static char ours[TEXT_BYTES];
    static char theirs[TEXT_BYTES];
    va_list arguments;

    va_start(arguments, format);
    int our_count = tested_vsnprintf(ours, sizeof(ours), format, arguments);

    va_end(arguments);
    va_start(arguments, format);
    int their_count = vsnprintf(theirs, sizeof(theirs), format, arguments);

    va_end(arguments);
    if (strcmp(ours, theirs) != 0 && is_host_mistake(format, theirs)) {
        return;
    }
    if (strcmp(ours, theirs) != 0) {
        fail_msg("%s: \"%s\" instead of \"%s\"", format, ours, theirs);
    }
    assert_int_equal(our_count, their_count);
}

static uint64_t random_state = 20;

static uint64_t any_below(uint64_t limit)
{
    return random_below(&random_state, limit);
}

static double from_bits(uint64_t bits)
{
    double value;

    memcpy(&value, &bits, sizeof(value));
    return value;
}

/* Any bits: mostly huge and tiny numbers, with all their digits. */
static double any_double(void)
{
    return from_bits(random_next(&random_state));
}

static double any_subnormal(void)
{
    return from_bits(random_next(&random_state) >> (12 + any_below(52)));
}

/* Ties between two decimals: an odd number of halves, quarters, eighths ... */
static double any_half(void)
{
    return ldexp((double)(any_below(2000000) * 2 + 1), -(int)any_below(24)) *
           (any_below(2) == 0 ? 1 : -1);
}

/* Returns a number with few digits and a small exponent, as people write numbers. */
static double any_decimal(void)
{
    char text[64];

    (void)snprintf(text, sizeof(text), "%s%ue%d", any_below(2) == 0 ? "" : "-",
                   (unsigned)any_below(10000000), (int)any_below(40) - 20);
    return strtod(text, NULL);
}

/* Below, at and above a power of ten, where a carry makes one digit more. */
static double any_near_power(void)
{
    char text[64];
    double power;
    uint64_t bits;

    (void)snprintf(text, sizeof(text), "1e%d", (int)any_below(630) - 322);
    power = strtod(text, NULL);
    memcpy(&bits, &power, sizeof(bits));
    return from_bits(bits + any_below(3) - 1 - (any_below(4) == 0 ? any_below(1 << 20) : 0));
}

static double any_integer(void)
{
    return (double)(random_next(&random_state) >> any_below(64));
}

/* Flags and width, then a precision or a '*' for one. */
static bool random_format(char *format, unsigned precision_max)
{
    size_t length = 0;
    bool star = false;

    format[length++] = '%';
    for (unsigned i = 0; i < 5; i++) {
        if (any_below(4) == 0) {
            format[length++] = "-0+ #"[i];
        }
    }
    if (any_below(2) == 0) {
        length += (size_t)sprintf(&format[length], "%u", (unsigned)any_below(45));
    }
    if (any_below(3) != 0) {
        format[length++] = '.';
        star = any_below(3) == 0;
        if (star) {
            format[length++] = '*';
        } else if (any_below(8) != 0) {
            length += (size_t)sprintf(&format[length], "%u", (unsigned)any_below(precision_max));
        }
    }
    if (any_below(4) == 0) {
        format[length++] = 'l';
    }
    format[length++] = "eEfFgG"[any_below(6)];
    format[length] = '\0';
    return star;
}

static void compare_many(double (*next)(void), unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        unsigned precision_max = any_below(10) == 0 ? 1200 : 25;
        char format[64];
        bool star = random_format(format, precision_max);
        double value = next();

        if (star) {
            compare(format, (int)any_below(precision_max) - 3, value);
        } else {
            compare(format, value);
        }
    }
}

static void test_random_bits(void **state)
{
    (void)state;
    compare_many(any_double, 40000);
}

static void test_subnormals(void **state)
{
    (void)state;
    compare_many(any_subnormal, 10000);
}

static void test_ties(void **state)
{
    (void)state;
    compare_many(any_half, 40000);
}

static void test_decimals(void **state)
{
    (void)state;
    compare_many(any_decimal, 40000);
}

static void test_powers_of_ten(void **state)
{
    (void)state;
    compare_many(any_near_power, 40000);
}

static void test_integers(void **state)
{
    (void)state;
    compare_many(any_integer, 20000);
}

static void test_corners(void **state)
{
    static const double values[] = {
        0.0,
        -0.0,
        1.0,
        0.5,
        1.5,
        2.5,
        0.05,
        0.15,
        9.5,
        99.95,
        999999.5,
        9.9999995,
        0.0001,
        0.00001,
        0.00009999995,
        1e5,
        1e6,
        123456789,
        0x1p-1074,
        0x1p-1022,
        0x1.fffffffffffffp-1023,
        0x1.fffffffffffffp1023,
        1e22,
        1e23,
        5e-324,
        INFINITY,
        -INFINITY,
        NAN,
        -NAN,
    };
    static const char *const formats[] = {
        "%f",     "%F",     "%e",      "%E",      "%g",     "%G",      "%.0f",    "%#.0f",
        "%.0e",   "%#.0e",  "%.0g",    "%#g",     "%#.0g",  "%+f",     "% f",     "%+ e",
        "%012f",  "%-12f|", "%-012g|", "%012g",   "%+012G", "%1f",     "%.1f",    "%.2f",
        "%.3e",   "%.17g",  "%.1100f", "%.1074e", "%.800g", "%#.800g", "%500.3f", "%-500.3e|",
        "%0500g", "%lf",    "%.f",     "%.g",
    };

    (void)state;
    for (unsigned i = 0; i < sizeof(values) / sizeof(values[0]); i++) {
        for (unsigned j = 0; j < sizeof(formats) / sizeof(formats[0]); j++) {
            compare(formats[j], values[i]);
            compare(formats[j], -values[i]);
        }
    }
    compare("%d %f %s %g %c %e", 1, 2.5, "three", 4.0, '5', 6e60);
    compare("%*.*f|%-*.*e|", 9, 2, 3.14159, 12, 3, 2.71828);
    compare("%f %f %f %f %f %f %f %f %f %f", 1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0, 9.0, 10.0);
}

/* Where the host's may be wrong (is_host_mistake()). */
static void test_carries_of_the_alternative_form(void **state)
{
    char text[32];

    (void)state;
    (void)tested_snprintf(text, sizeof(text), "%#g|%#.3G", 999999.5, 999.7);
    assert_string_equal(text, "1.00000e+06|1.00E+03");
}

static void test_precisions_beyond_all_digits(void **state)
{
    char text[32];

    (void)state;
    assert_int_equal(tested_snprintf(text, sizeof(text), "%.100000f", 0.5), 100002);
    assert_string_equal(text, "0.50000000000000000000000000000");
    assert_int_equal(tested_snprintf(text, sizeof(text), "%.100000e", 0x1p-1074), 100007);
    assert_string_equal(text, "4.94065645841246544176568792868");
    assert_int_equal(tested_snprintf(text, sizeof(text), "%.2147483647g", 0.25), 4);
    assert_string_equal(text, "0.25");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_random_bits),
        cmocka_unit_test(test_subnormals),
        cmocka_unit_test(test_ties),
        cmocka_unit_test(test_decimals),
        cmocka_unit_test(test_powers_of_ten),
        cmocka_unit_test(test_integers),
        cmocka_unit_test(test_corners),
        cmocka_unit_test(test_carries_of_the_alternative_form),
        cmocka_unit_test(test_precisions_beyond_all_digits),
    };

    return cmocka_run_group_tests(tests, NULL, NULL);
}
