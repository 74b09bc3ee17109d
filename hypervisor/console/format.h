/* SPDX-License-Identifier: BSD-2-Clause */
/* Formatting of the hypervisor's messages. The functions may be called with the MMU off. */
#ifndef CONSOLE_FORMAT_H
#define CONSOLE_FORMAT_H

#include <stdarg.h>
#include <stdint.h>

/* Receives one character of the formatted text. */
typedef void (*format_output)(char character);

/* Writes a string without its terminating 0. */
void format_text(format_output output, const char *text);

/* Writes a number without leading zeros. `base`: 10 or 16. */
void format_number(format_output output, uint64_t number, unsigned base);

/* Writes `format` with its arguments. Conversions: %s, %u, %lu, %x and %lx, without flags, width or
 * precision. */
void format_message(format_output output, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));

#endif
