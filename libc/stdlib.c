/* SPDX-License-Identifier: BSD-2-Clause */
/* Converts text to numbers. */
#include <stdlib.h>

#include <ctype.h>
#include <limits.h>
#include <stdbool.h>

/* Returns the value of a digit in bases up to 36, 36 for any other character. */
static int digit_value(char character)
{
    if (isdigit((unsigned char)character)) {
        return character - '0';
    }
    if (isalpha((unsigned char)character)) {
        return tolower((unsigned char)character) - 'a' + 10;
    }
    return 36;
}

/* Skips a prefix that the base allows, and replaces base 0 by the base that the prefix means. A
 * prefix without a digit behind it is read as a zero. */
static const char *skip_prefix(const char *text, int *base)
{
    bool hexadecimal =
        text[0] == '0' && (text[1] == 'x' || text[1] == 'X') && digit_value(text[2]) < 16;

    if (hexadecimal && (*base == 0 || *base == 16)) {
        *base = 16;
        return text + 2;
    }
    if (*base == 0) {
        *base = text[0] == '0' ? 8 : 10;
    }
    return text;
}

/* Returns the number's absolute value, saturated if *overflow is set, and writes its sign. *end is
 * the end of the number, or `text` if there is none. */
static unsigned long magnitude(const char *text, const char **end, int base, bool *negative,
                               bool *overflow)
{
    const char *position = text;
    unsigned long value = 0;

    *end = text;
    *overflow = false;
    while (isspace((unsigned char)*position)) {
        position++;
    }
    *negative = *position == '-';
    if (*position == '-' || *position == '+') {
        position++;
    }
    if (base < 0 || base == 1 || base > 36) {
        return 0;
    }
    for (position = skip_prefix(position, &base); digit_value(*position) < base; position++) {
        if (__builtin_mul_overflow(value, (unsigned long)base, &value) ||
            __builtin_add_overflow(value, (unsigned long)digit_value(*position), &value)) {
            *overflow = true;
        }
        *end = position + 1;
    }
    return *overflow ? ULONG_MAX : value;
}

unsigned long strtoul(const char *restrict text, char **restrict end, int base)
{
    const char *stop;
    bool negative;
    bool overflow;
    unsigned long value = magnitude(text, &stop, base, &negative, &overflow);

    if (end != NULL) {
        *end = (char *)(size_t)stop;
    }
    return negative && !overflow ? -value : value;
}

long strtol(const char *restrict text, char **restrict end, int base)
{
    const char *stop;
    bool negative;
    bool overflow;
    unsigned long value = magnitude(text, &stop, base, &negative, &overflow);

    if (end != NULL) {
        *end = (char *)(size_t)stop;
    }
    if (negative) {
        return value > (unsigned long)LONG_MAX ? LONG_MIN : -(long)value;
    }
    return value > (unsigned long)LONG_MAX ? LONG_MAX : (long)value;
}

int atoi(const char *text)
{
    return (int)strtol(text, NULL, 10);
}
