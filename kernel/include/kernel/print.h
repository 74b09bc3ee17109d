/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Text output. print() copies its text to the console's buffer, and the thread "console" (priority
 * 36) sends it to the serial line. Text that does not fit into the buffer is dropped and counted;
 * the count is printed when there is room again. The text of one call is kept together, and cut
 * after 255 characters. A panic, and the end of the machine, send what is left in the buffer before
 * they end.
 */
#ifndef KERNEL_PRINT_H
#define KERNEL_PRINT_H

#include <stdarg.h>
#include <stddef.h>

/* printf's conversions d i u x X p c s % with flags 0 - + space #, width, precision, and lengths hh
 * h l ll z j t; and e E f F g G in programs with 'print_doubles' (images/meson.build). Any context.
 */
void print(const char *format, ...) __attribute__((format(printf, 1, 2)));
void print_arguments(const char *format, va_list arguments) __attribute__((format(printf, 1, 0)));

#endif
