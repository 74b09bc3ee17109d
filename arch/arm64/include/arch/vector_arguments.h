/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Doubles among the arguments of a variadic function that is compiled for general registers only.
 * Its caller passes them in v0 to v7, which va_start() ignores in such a function (AAPCS64, 6.8.2,
 * and "Appendix: Variable argument lists").
 */
#ifndef ARCH_VECTOR_ARGUMENTS_H
#define ARCH_VECTOR_ARGUMENTS_H

#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>

struct arch_vector_arguments {
    _Alignas(16) uint8_t registers[8 * 16];
};

/* Stores v0 to v7 and returns true, or returns false if the running code has not used the
 * floating-point registers. It never makes them part of a thread's context. */
bool arch_vector_arguments_store(struct arch_vector_arguments *vectors);

/* Adds the arguments in v0 to v7 to a list. Call it directly after va_start(), in a function that
 * is compiled for general registers only, before any function that may use others. *vectors has to
 * live as long as the list. */
static inline void arch_vector_arguments_add(va_list *list, struct arch_vector_arguments *vectors)
{
    if (arch_vector_arguments_store(vectors)) {
        list->__vr_top = vectors->registers + sizeof vectors->registers;
        list->__vr_offs = -(int)sizeof vectors->registers;
    }
}

#endif
