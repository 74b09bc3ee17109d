/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two-level segregated fit (Masmano, Ripoll, Crespo, Real: "TLSF: a new dynamic memory allocator
 * for real-time systems", ECRTS 2004). Free blocks are in one list for each size class, two levels
 * of bitmaps show the classes with free blocks, and neighbouring free blocks are joined at once.
 * Allocation and release take constant time.
 *
 * This module takes no lock, requests no memory and does not panic. The size of a block is a
 * multiple of 16 bytes. Its header of 16 bytes contains a check code, so that a pointer to anything
 * else than an allocated block is detected; random data passes as a header with a probability of
 * 2^-16.
 */
#ifndef MM_TLSF_H
#define MM_TLSF_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TLSF_ALIGNMENT      ((size_t)16)
#define TLSF_LINEAR_BITS    8u /* below 2^8 bytes, one class for each multiple of 16 */
#define TLSF_SECOND_BITS    4u /* above, 16 classes for each power of two */
#define TLSF_SECOND_COUNT   (1u << TLSF_SECOND_BITS)
#define TLSF_MAXIMUM_BITS   32u /* no block of 2^32 bytes or more */
#define TLSF_FIRST_COUNT    (TLSF_MAXIMUM_BITS - TLSF_LINEAR_BITS + 1)
#define TLSF_BYTES_MAXIMUM  ((size_t)UINT32_C(0xf0000000)) /* largest request */
#define TLSF_REGION_MINIMUM ((size_t)128)

struct tlsf_block;
struct tlsf_region;

struct tlsf {
    uint32_t first_map;                    /* bit n: first level n has a free block */
    uint32_t second_map[TLSF_FIRST_COUNT]; /* the same for the classes of one first level */
    struct tlsf_block *free[TLSF_FIRST_COUNT][TLSF_SECOND_COUNT];
    struct tlsf_region *newest_region;
    size_t total_bytes; /* size of all regions */
    size_t used_bytes;  /* size of all allocated blocks with their headers */
    size_t peak_bytes;  /* highest used_bytes */
    bool damaged;       /* a free block was found overwritten; allocations return NULL */
};

void tlsf_init(struct tlsf *tlsf);

/*
 * Adds memory, which cannot be removed again. Address and size are multiples of 16, and the size is
 * TLSF_REGION_MINIMUM to TLSF_BYTES_MAXIMUM. Memory directly behind the region that was added last
 * extends that region. Returns false if the memory was not added.
 */
bool tlsf_add_region(struct tlsf *tlsf, void *memory, size_t bytes);

/* Allocates a block. `alignment` is a power of two, >= 16. Returns NULL if no free block is large
 * enough. */
void *tlsf_allocate(struct tlsf *tlsf, size_t bytes, size_t alignment);

/* Frees a block. Returns false, and does nothing, if `memory` is not an allocated block or a
 * neighbouring header is damaged. */
bool tlsf_free(struct tlsf *tlsf, void *memory);

/* Returns the size of a region that is certainly large enough for this request, 0 if there is none.
 */
size_t tlsf_region_bytes(size_t bytes, size_t alignment);

/* Returns the number of usable bytes in an allocated block. */
size_t tlsf_block_bytes(const void *memory);

/* Checks all regions and lists, for tests. Returns NULL, or a text about the error. */
const char *tlsf_check(const struct tlsf *tlsf);

#endif
