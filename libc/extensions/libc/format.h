/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * printf's formatting, to any sink of text. Conversions d i u x X o p c s %, flags - 0 + space #,
 * width and precision (also *), lengths hh h l ll z j t; and e E f F g G of doubles, in images that
 * are linked with them ('print_doubles' in images/meson.build). No long double, no wide characters,
 * no %a, no %n. An unknown conversion is written unchanged, and takes no argument.
 */
#ifndef LIBC_FORMAT_H
#define LIBC_FORMAT_H

#include <stdarg.h>
#include <stddef.h>

/* A sink: gets the next `bytes` (> 0) characters of the output, not terminated. */
typedef void (*format_sink)(void *context, const char *text, size_t bytes);

/* Formats to the sink. Returns how many characters the sink got. Any context that the sink allows.
 * Uses less than 300 bytes of stack in addition to the sink's, and 1,000 for a double. */
size_t format_arguments(format_sink sink, void *context, const char *format, va_list list)
    __attribute__((format(printf, 3, 0)));

#endif
