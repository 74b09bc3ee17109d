/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Memory: pages (physical, mapped one to one), a heap with bounded time (two-level segregated fit)
 * that grows by pages, and pools of equal blocks for interrupt context.
 */
#ifndef KERNEL_MEMORY_H
#define KERNEL_MEMORY_H

#include "kernel/result.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PAGE_BYTES ((size_t)4096)

/* Gives the page allocator a range of free memory; cut to whole pages. Boot only. */
void page_add_range(uintptr_t address, size_t bytes);
/* `count` > 0 contiguous pages aligned to `alignment` (a power of two, >= PAGE_BYTES), not cleared;
 * NULL if there is no such run. Readable, writable, not executable; address == physical address.
 * Thread context. */
void *page_allocate(size_t count, size_t alignment);
void page_free(void *memory, size_t count);

/* Any size > 0; aligned to 16 bytes; not cleared; NULL when memory is exhausted. O(1) unless the
 * heap has to grow. Thread context. */
void *heap_allocate(size_t bytes);
/* `alignment` a power of two up to PAGE_BYTES. */
void *heap_allocate_aligned(size_t bytes, size_t alignment);
/* NULL is allowed. A pointer that is not an allocated block is a programming error: panic. */
void heap_free(void *memory);

struct memory_statistics {
    size_t ram_bytes;       /* all memory of the machine (or partition) */
    size_t image_bytes;     /* kernel image in memory, .bss included */
    size_t page_used_bytes; /* pages given out (heap's included), image not included */
    size_t page_free_bytes;
    size_t heap_total_bytes; /* pages the heap owns */
    size_t heap_used_bytes;  /* allocated, block headers included */
    size_t heap_peak_bytes;
    uint64_t heap_failures; /* allocations refused */
};

void memory_statistics(struct memory_statistics *statistics);

/* Blocks of one size, constant time, usable in interrupts. */
struct pool {
    void *free_list;
    size_t block_bytes;
    uint32_t capacity;
    uint32_t free_count;
    uint32_t lowest_free; /* low-water mark of free_count */
    uint64_t failures;
    uintptr_t storage;
};

/* `storage` holds block_bytes * count bytes, aligned as the blocks must be; block_bytes >=
 * sizeof(void *) and a multiple of it. The caller owns the storage. RESULT_INVALID. */
enum result pool_init(struct pool *pool, void *storage, size_t block_bytes, uint32_t count);
void *pool_allocate(struct pool *pool); /* NULL if empty; any context */
/* A block that is not the pool's is a programming error: panic. Any context. */
void pool_free(struct pool *pool, void *memory);

#endif
