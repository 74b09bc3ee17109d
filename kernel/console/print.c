/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * print() formats a message on the caller's stack before it writes it. So interrupts are masked
 * only while the message is copied, and messages do not mix.
 */
#include "kernel/print.h"

#include "console/console.h"
#include <arch/vector_arguments.h>
#include <stdio.h>
#include <string.h>

#define MESSAGE_BYTES 256

/* The end of a message that was cut. */
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
    struct arch_vector_arguments vectors;
    va_list arguments;

    va_start(arguments, format);
    arch_vector_arguments_add(&arguments, &vectors);
    print_arguments(format, arguments);
    va_end(arguments);
}
