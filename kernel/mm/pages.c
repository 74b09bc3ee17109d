/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The page allocator: a list of free extents in order of address. An extent is described in its own
 * first bytes, so the allocator needs no further memory. It allocates by first fit, and joins
 * neighbouring extents when pages are freed.
 *
 * A search takes linear time in the number of free extents. There are few, because only stacks,
 * heap growth and buffers of drivers use pages. It runs under the lock of memory management
 * (mm/memory_lock.h).
 */
#include "mm/pages.h"

#include "kernel/memory.h"
#include "kernel/panic.h"
#include "mm/memory_lock.h"

struct extent {
    struct extent *next; /* at a higher address, not adjacent */
    size_t pages;
};

struct range {
    uintptr_t start;
    uintptr_t end;
};

static struct {
    struct extent *first;
    size_t free_pages;
    size_t total_pages;
    unsigned range_count;
    struct range range[PAGE_RANGES_MAX]; /* ranges that page_add_range() has accepted */
} pages;

void pages_init(void)
{
    pages.first = NULL;
    pages.free_pages = 0;
    pages.total_pages = 0;
    pages.range_count = 0;
}

static uintptr_t extent_end(const struct extent *extent)
{
    return (uintptr_t)extent + extent->pages * PAGE_BYTES;
}

/* Makes [start, start + count pages) free. Returns false if a part of it is free already. */
static bool insert_extent(uintptr_t start, size_t count)
{
    struct extent *previous = NULL;
    struct extent *next = pages.first;
    uintptr_t end = start + count * PAGE_BYTES;

    while (next != NULL && (uintptr_t)next < start) {
        previous = next;
        next = next->next;
    }
    if ((previous != NULL && extent_end(previous) > start) ||
        (next != NULL && end > (uintptr_t)next)) {
        return false;
    }
    struct extent *extent = (struct extent *)start;

    extent->next = next;
    extent->pages = count;
    if (next != NULL && end == (uintptr_t)next) {
        extent->pages += next->pages;
        extent->next = next->next;
    }
    if (previous == NULL) {
        pages.first = extent;
    } else if (extent_end(previous) == start) {
        previous->pages += extent->pages;
        previous->next = extent->next;
    } else {
        previous->next = extent;
    }
    pages.free_pages += count;
    return true;
}

/* Records a new range, joined to an adjacent one. Returns false if it overlaps one or the table is
 * full. */
static bool remember_range(uintptr_t start, uintptr_t end)
{
    struct range *touching = NULL;

    for (unsigned i = 0; i < pages.range_count; i++) {
        struct range *range = &pages.range[i];

        if (start < range->end && range->start < end) {
            return false;
        }
        if (start == range->end || end == range->start) {
            touching = range;
        }
    }
    if (touching != NULL) {
        touching->start = start < touching->start ? start : touching->start;
        touching->end = end > touching->end ? end : touching->end;
        return true;
    }
    if (pages.range_count == PAGE_RANGES_MAX) {
        return false;
    }
    pages.range[pages.range_count] = (struct range){.start = start, .end = end};
    pages.range_count++;
    return true;
}

void page_add_range(uintptr_t address, size_t bytes)
{
    uintptr_t end;

    if (__builtin_add_overflow(address, bytes, &end)) {
        end = UINTPTR_MAX;
    }
    end &= ~(uintptr_t)(PAGE_BYTES - 1);
    if (address < PAGE_BYTES) {
        address = PAGE_BYTES; /* page 0 is never mapped, so that NULL faults */
    }
    if (address > end) {
        return;
    }
    address = (address + PAGE_BYTES - 1) & ~(uintptr_t)(PAGE_BYTES - 1);
    /* The memory map is untrusted input: ranges that overlap, or do not fit into the table, are not
     * used. */
    if (address >= end || !remember_range(address, end)) {
        return;
    }
    (void)insert_extent(address, (end - address) / PAGE_BYTES);
    pages.total_pages += (end - address) / PAGE_BYTES;
}

/* Removes `count` pages at `start` from `extent`, to which *link points. */
static void carve(struct extent **link, struct extent *extent, uintptr_t start, size_t count)
{
    struct extent *next = extent->next;
    uintptr_t end = start + count * PAGE_BYTES;
    size_t after = (extent_end(extent) - end) / PAGE_BYTES;

    if (after != 0) {
        struct extent *rest = (struct extent *)end;

        rest->next = next;
        rest->pages = after;
        next = rest;
    }
    if (start == (uintptr_t)extent) {
        *link = next;
    } else {
        extent->next = next;
        extent->pages = (start - (uintptr_t)extent) / PAGE_BYTES;
    }
    pages.free_pages -= count;
}

static void *allocate(size_t count, size_t alignment)
{
    struct extent **link = &pages.first;

    for (struct extent *extent = pages.first; extent != NULL; extent = extent->next) {
        uintptr_t before = -(uintptr_t)extent & (alignment - 1);
        size_t gap = before / PAGE_BYTES;

        if (gap < extent->pages && extent->pages - gap >= count) {
            uintptr_t start = (uintptr_t)extent + before;

            carve(link, extent, start, count);
            return (void *)start;
        }
        link = &extent->next;
    }
    return NULL;
}

void *page_allocate(size_t count, size_t alignment)
{
    if (count == 0 || alignment < PAGE_BYTES || (alignment & (alignment - 1)) != 0) {
        panic("page_allocate: %zu pages aligned to %zu", count, alignment);
    }
    memory_lock();
    void *memory = allocate(count, alignment);

    memory_unlock();
    return memory;
}

static bool is_ours(uintptr_t start, size_t count)
{
    for (unsigned i = 0; i < pages.range_count; i++) {
        const struct range *range = &pages.range[i];

        if (start >= range->start && start < range->end) {
            return count <= (range->end - start) / PAGE_BYTES;
        }
    }
    return false;
}

void page_free(void *memory, size_t count)
{
    uintptr_t start = (uintptr_t)memory;

    memory_lock();
    if (count == 0 || start % PAGE_BYTES != 0 || !is_ours(start, count) ||
        !insert_extent(start, count)) {
        panic("page_free: %zu pages at %p are not allocated", count, memory);
    }
    memory_unlock();
}

void pages_count(size_t *used_bytes, size_t *free_bytes)
{
    memory_lock();
    *free_bytes = pages.free_pages * PAGE_BYTES;
    *used_bytes = (pages.total_pages - pages.free_pages) * PAGE_BYTES;
    memory_unlock();
}
