/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Checks of memcpy, memmove, memset, memcmp and the checksum functions against the plainest loops,
 * at all alignments. They need no library, so that the host's test and a guest run the same ones,
 * the latter on the assembly of libc/arm64.
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

/* NULL if all is well, otherwise the name of what is not. */
const char *memory_checks(const struct memory_functions *functions);

#endif
