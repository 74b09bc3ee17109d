/* SPDX-License-Identifier: BSD-2-Clause */
/* The host's part of <arch/vector_arguments.h>: va_start() finds all arguments by itself. */
#ifndef ARCH_VECTOR_ARGUMENTS_H
#define ARCH_VECTOR_ARGUMENTS_H

#include <stdarg.h>

struct arch_vector_arguments {
    char none;
};

static inline void arch_vector_arguments_add(va_list *list, struct arch_vector_arguments *vectors)
{
    (void)list;
    (void)vectors;
}

#endif
