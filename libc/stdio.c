/* SPDX-License-Identifier: BSD-2-Clause */
/* Formatting into memory. */
#include <stdio.h>

#include "libc/format.h"
#include <arch/vector_arguments.h>
#include <limits.h>
#include <stdint.h>
#include <string.h>

struct buffer {
    char *text;
    size_t room; /* without the terminating zero */
};

static void store(void *context, const char *text, size_t bytes)
{
    struct buffer *buffer = context;
    size_t fitting = bytes < buffer->room ? bytes : buffer->room;

    if (fitting > 0) {
        memcpy(buffer->text, text, fitting);
        buffer->text += fitting;
        buffer->room -= fitting;
    }
}

int vsnprintf(char *restrict text, size_t bytes, const char *restrict format, va_list arguments)
{
    struct buffer buffer = {.text = text, .room = bytes > 0 ? bytes - 1 : 0};
    size_t count = format_arguments(store, &buffer, format, arguments);

    if (bytes > 0) {
        *buffer.text = '\0';
    }
    return count > INT_MAX ? -1 : (int)count;
}

int snprintf(char *restrict text, size_t bytes, const char *restrict format, ...)
{
    struct arch_vector_arguments vectors;
    va_list arguments;

    va_start(arguments, format);
    arch_vector_arguments_add(&arguments, &vectors);
    int count = vsnprintf(text, bytes, format, arguments);

    va_end(arguments);
    return count;
}
