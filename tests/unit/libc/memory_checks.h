/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Checks memcpy, memmove, memset, memcmp and the checksum functions against the simplest loops, at
 * all alignments. The checks need no library, so that the host's test and a guest can both run
 * them; the guest runs them on the assembly of libc/arm64.
 */
#ifndef MEMORY_CHECKS_H
#define MEMORY_CHECKS_H

#include <stddef.h>
#include <stdint.h>

struct memory_functions {
    void *(*copy)(void *destination, const void *source, size_t bytes);
    void *(*move)(void *destination, const void *source, size_t bytes);
    void *(*set)(void *memory, int value, size_t bytes);
    int (*compare)(const void *first, const void *second, size_t bytes);
    uint16_t (*checksum)(const void *data, size_t bytes);
    uint16_t (*checksum_copy)(void *destination, const void *source, size_t bytes);
};

/* Returns NULL if all checks pass, otherwise the name of the function that fails. */
const char *memory_checks(const struct memory_functions *functions);

#endif
