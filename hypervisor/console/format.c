/* SPDX-License-Identifier: BSD-2-Clause */
#include "console/format.h"

#include <stdbool.h>

#define DIGITS_MAX 20u /* digits of a number of 64 bits in base 10 */

void format_text(format_output output, const char *text)
{
    for (; *text != '\0'; text++) {
        output(*text);
    }
}

void format_number(format_output output, uint64_t number, unsigned base)
{
    char digits[DIGITS_MAX]; /* in reverse order: the least significant digit first */
    unsigned count = 0;

    do {
        digits[count] = "0123456789abcdef"[number % base];
        count++;
        number /= base;
    } while (number != 0);
    while (count != 0) {
        count--;
        output(digits[count]);
    }
}

void format_message(format_output output, const char *format, va_list arguments)
{
    for (; *format != '\0'; format++) {
        bool is_long = false;

        if (*format != '%') {
            output(*format);
            continue;
        }
        format++;
        if (*format == 'l') {
            is_long = true;
            format++;
        }
        if (*format == 's') {
            format_text(output, va_arg(arguments, const char *));
        } else {
            uint64_t number =
                is_long ? va_arg(arguments, unsigned long) : va_arg(arguments, unsigned);

            format_number(output, number, *format == 'x' ? 16 : 10);
        }
    }
}
