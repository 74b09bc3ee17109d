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

/* Adds a range of free memory, cut to whole pages. Page 0 is never used. A range that overlaps an
 * earlier one is ignored. Boot only. */
void page_add_range(uintptr_t address, size_t bytes);
/* Allocates `count` > 0 contiguous pages, aligned to `alignment` bytes (a power of two, >=
 * PAGE_BYTES). They are not cleared. Returns their address, which is the physical address, or NULL
 * if there is no such run. Readable, writable, not executable. Thread context. */
void *page_allocate(size_t count, size_t alignment);
/* Frees `count` pages. Panics if they were not allocated. Thread context. */
void page_free(void *memory, size_t count);

/* Allocates `bytes` > 0, aligned to 16 bytes and not cleared. Returns NULL if memory is exhausted.
 * O(1) unless the heap has to grow. Thread context. */
void *heap_allocate(size_t bytes);
/* The same, aligned to `alignment` bytes, a power of two up to PAGE_BYTES. */
void *heap_allocate_aligned(size_t bytes, size_t alignment);
/* Frees a block. Does nothing for NULL. Panics if the pointer is no allocated block. Thread
 * context. */
void heap_free(void *memory);

struct memory_statistics {
    size_t ram_bytes;       /* all memory of the machine (or partition) */
    size_t image_bytes;     /* kernel image in memory, .bss included */
    size_t page_used_bytes; /* allocated pages, including the heap's, without the image's */
    size_t page_free_bytes;
    size_t heap_total_bytes; /* pages of the heap */
    size_t heap_used_bytes;  /* allocated blocks, including their headers */
    size_t heap_peak_bytes;
    uint64_t heap_failures; /* failed allocations */
};

void memory_statistics(struct memory_statistics *statistics);

/* Blocks of one size, allocated and freed in constant time, in any context. */
struct pool {
    void *free_list;
    size_t block_bytes;
    uint32_t capacity;
    uint32_t free_count;
    uint32_t lowest_free; /* low-water mark of free_count */
    uint64_t failures;
    uintptr_t storage;
};

/* Makes a pool of `storage`, which the caller owns: block_bytes * count bytes, with the alignment
 * that the blocks need. Returns RESULT_INVALID unless `block_bytes` is a multiple of sizeof(void *)
 * and `count` > 0. */
enum result pool_init(struct pool *pool, void *storage, size_t block_bytes, uint32_t count);
/* Returns a block, NULL if the pool is empty. Any context. */
void *pool_allocate(struct pool *pool);
/* Frees a block. Panics if it is not one of this pool. Any context. */
void pool_free(struct pool *pool, void *memory);

#endif
