/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * print(): formatted on the caller's stack first, so that interrupts are masked for a copy only,
 * and so that messages do not mix.
 */
#include "kernel/print.h"

#include "console/console.h"
#include <stdio.h>
#include <string.h>

#define MESSAGE_BYTES 256

/* What a cut message ends with. */
static const char cut_mark[] = "...\n";

void print_arguments(const char *format, va_list arguments)
{
    char message[MESSAGE_BYTES];
    int length = vsnprintf(message, sizeof message, format, arguments);

    if (length < 0) {
        return;
    }
    if (length >= MESSAGE_BYTES) {
        memcpy(message + sizeof message - sizeof cut_mark, cut_mark, sizeof cut_mark);
        length = MESSAGE_BYTES - 1;
    }
    console_write(message, (size_t)length);
}

void print(const char *format, ...)
{
    va_list arguments;

    va_start(arguments, format);
    print_arguments(format, arguments);
    va_end(arguments);
}
