/* SPDX-License-Identifier: BSD-2-Clause */
/* A conversion of the printf engine (format.c), and how it writes. */
#ifndef LIBC_CONVERSION_H
#define LIBC_CONVERSION_H

#include "libc/format.h"
#include <stdbool.h>

struct output {
    format_sink sink;
    void *context;
    size_t count;
};

enum length { LENGTH_CHAR, LENGTH_SHORT, LENGTH_INT, LENGTH_LONG };

struct conversion {
    bool left;
    bool zero;
    bool alternative;
    char positive_sign; /* '+', ' ' or none (0) */
    int width;
    int precision; /* -1: not given */
    enum length length;
    char specifier;
};

/* va_list may be an array type, whose address can't be passed on unless it is in a structure. */
struct arguments {
    va_list list;
};

void put(struct output *output, const char *text, size_t bytes);
void put_spaces(struct output *output, size_t count);
void put_zeros(struct output *output, size_t count);

/* Writes text padded to the field's width. */
void put_padded(struct output *output, const struct conversion *conversion, const char *text,
                size_t bytes);

/* Converts the next argument, a double, by one of e E f F g G. Returns false if the image is linked
 * without conversions of doubles: then no argument is taken. There is one definition in
 * double_conversion.c and one in no_double_conversion.c. */
bool convert_double(struct output *output, const struct conversion *conversion,
                    struct arguments *arguments);

#endif
