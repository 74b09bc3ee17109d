/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A set of address ranges: the machine's free memory. Ranges are [start, end), sorted, and do not
 * touch each other. Not synchronised.
 */
#ifndef MEMORY_RANGES_H
#define MEMORY_RANGES_H

#include <stdbool.h>
#include <stdint.h>

#define MEMORY_RANGES_MAX 32u

struct memory_range {
    uint64_t start;
    uint64_t end;
};

struct memory_ranges {
    unsigned count;
    struct memory_range range[MEMORY_RANGES_MAX];
};

/* Adds `bytes` from `start`, cut at the end of the address space. Returns false, and changes
 * nothing, if the set has no room for another range. */
bool memory_ranges_add(struct memory_ranges *ranges, uint64_t start, uint64_t bytes);

/* Removes `bytes` from `start`. Returns false if a range has to be split and the set has no room
 * for another range: then the upper part is removed too, so that the given bytes are removed in any
 * case. */
bool memory_ranges_remove(struct memory_ranges *ranges, uint64_t start, uint64_t bytes);

/* Shrinks each range to whole pages of a power-of-two size. */
void memory_ranges_align(struct memory_ranges *ranges, uint64_t page_bytes);

/* Returns the sum of the sizes of all ranges, in bytes. */
uint64_t memory_ranges_bytes(const struct memory_ranges *ranges);

#endif
