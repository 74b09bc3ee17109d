/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A set of address ranges: what of the machine's memory is free. Pure logic; ranges are [start,
 * end), sorted, and do not touch. Not synchronised.
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

/* Adds `bytes` from `start`, cut at the end of the address space. False if the set would have more
 * ranges than it has room for: it is unchanged. */
bool memory_ranges_add(struct memory_ranges *ranges, uint64_t start, uint64_t bytes);

/* Takes bytes away. False if a range would have to be cut in two and there is no room for it: then
 * the upper part is taken away as well, so that what was to go is gone in any case. */
bool memory_ranges_remove(struct memory_ranges *ranges, uint64_t start, uint64_t bytes);

/* Cuts each range to whole pages of a power-of-two size. */
void memory_ranges_align(struct memory_ranges *ranges, uint64_t page_bytes);

/* Sum of all ranges. */
uint64_t memory_ranges_bytes(const struct memory_ranges *ranges);

#endif
