/* SPDX-License-Identifier: BSD-2-Clause */
/* <stdio.h> of guest builds: formatting to memory (libc/format.h lists the conversions). */
#ifndef _STDIO_H
#define _STDIO_H

#include <stdarg.h>
#include <stddef.h>

int snprintf(char *restrict text, size_t bytes, const char *restrict format, ...)
    __attribute__((format(printf, 3, 4)));
int vsnprintf(char *restrict text, size_t bytes, const char *restrict format, va_list arguments)
    __attribute__((format(printf, 3, 0)));

#endif
