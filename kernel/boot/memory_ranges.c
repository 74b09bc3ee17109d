/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Sets of address ranges.
 */
#include "boot/memory_ranges.h"

static uint64_t end_of(uint64_t start, uint64_t bytes)
{
    return bytes > UINT64_MAX - start ? UINT64_MAX : start + bytes;
}

static void erase(struct memory_ranges *ranges, unsigned index)
{
    ranges->count--;
    for (unsigned i = index; i < ranges->count; i++) {
        ranges->range[i] = ranges->range[i + 1];
    }
}

static bool insert(struct memory_ranges *ranges, unsigned index, struct memory_range range)
{
    if (ranges->count == MEMORY_RANGES_MAX) {
        return false;
    }
    for (unsigned i = ranges->count; i > index; i--) {
        ranges->range[i] = ranges->range[i - 1];
    }
    ranges->range[index] = range;
    ranges->count++;
    return true;
}

bool memory_ranges_add(struct memory_ranges *ranges, uint64_t start, uint64_t bytes)
{
    struct memory_range added = {.start = start, .end = end_of(start, bytes)};
    unsigned index = 0;

    if (bytes == 0) {
        return true;
    }
    while (index < ranges->count && ranges->range[index].end < added.start) {
        index++;
    }
    /* Merge it with all ranges that it overlaps or touches. */
    while (index < ranges->count && ranges->range[index].start <= added.end) {
        if (ranges->range[index].start < added.start) {
            added.start = ranges->range[index].start;
        }
        if (ranges->range[index].end > added.end) {
            added.end = ranges->range[index].end;
        }
        erase(ranges, index);
    }
    return insert(ranges, index, added);
}

bool memory_ranges_remove(struct memory_ranges *ranges, uint64_t start, uint64_t bytes)
{
    uint64_t end = end_of(start, bytes);
    unsigned index = 0;
    bool whole = true;

    while (index < ranges->count) {
        struct memory_range *range = &ranges->range[index];
        struct memory_range rest = {.start = end, .end = range->end};

        if (end <= range->start || start >= range->end || start == end) {
            index++;
        } else if (start <= range->start && end >= range->end) {
            erase(ranges, index);
        } else if (start <= range->start) {
            range->start = end;
            index++;
        } else {
            range->end = start;
            index++;
            if (rest.start < rest.end) {
                whole = insert(ranges, index, rest);
                index++;
            }
        }
    }
    return whole;
}

void memory_ranges_align(struct memory_ranges *ranges, uint64_t page_bytes)
{
    unsigned index = 0;

    while (index < ranges->count) {
        struct memory_range *range = &ranges->range[index];
        uint64_t start = range->start + (-range->start & (page_bytes - 1));
        uint64_t end = range->end & ~(page_bytes - 1);

        if (start < range->start || start >= end) {
            erase(ranges, index);
        } else {
            range->start = start;
            range->end = end;
            index++;
        }
    }
}

uint64_t memory_ranges_bytes(const struct memory_ranges *ranges)
{
    uint64_t bytes = 0;

    for (unsigned i = 0; i < ranges->count; i++) {
        bytes += ranges->range[i].end - ranges->range[i].start;
    }
    return bytes;
}
