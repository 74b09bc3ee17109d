/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Owners of physical addresses: partitions, the hypervisor, channels. A file has a line for each
 * range, "START BYTES NAME", with numbers in hexadecimal and a name of printable ASCII characters
 * without spaces, quotes and backslashes. An owner can have several ranges. Addresses in no range
 * belong to OWNER_OTHER.
 */
#ifndef MEMORY_MODEL_OWNERS_H
#define MEMORY_MODEL_OWNERS_H

#include "model_limits.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define OWNER_OTHER 0u /* its name is "other" */

struct owner_range {
    uint64_t start;
    uint64_t bytes; /* not 0 */
    uint8_t owner;
};

struct owners {
    char names[OWNERS_MAX][OWNER_NAME_BYTES];
    uint32_t count;                              /* with OWNER_OTHER */
    uint64_t starts[OWNERS_MAX];                 /* first address of each owner; of OWNER_OTHER 0 */
    struct owner_range ranges[OWNER_RANGES_MAX]; /* in ascending order */
    uint32_t range_count;
    uint32_t last; /* index of the range that the last address was in: the next one often is, too */
};

/* Reads a file of ranges. Returns NULL, or what is wrong with it. */
const char *owners_read(struct owners *owners, FILE *file);

/* Returns the index of a name, OWNERS_MAX if no owner has it. */
uint32_t owners_named(const struct owners *owners, const char *name);

/* Returns the owner of a physical address: the index of its name. */
uint8_t owners_find(struct owners *owners, uint64_t address);

#endif
