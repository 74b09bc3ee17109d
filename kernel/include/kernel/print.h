/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Text output. print() goes to the console's buffer and never waits for the line: what does not fit
 * is dropped and counted, and the count is printed when there is room again. One call's text is
 * kept together, and cut after 255 characters.
 */
#ifndef KERNEL_PRINT_H
#define KERNEL_PRINT_H

#include <stdarg.h>
#include <stddef.h>

/* printf's conversions d i u x X p c s % with flags 0 - + space #, width, precision, and lengths hh
 * h l ll z j t. No floating point. Any context. */
void print(const char *format, ...) __attribute__((format(printf, 1, 2)));
void print_arguments(const char *format, va_list arguments) __attribute__((format(printf, 1, 0)));

#endif
