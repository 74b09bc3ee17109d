/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Two-level segregated fit (Masmano, Ripoll, Crespo, Real: "TLSF: a new dynamic memory allocator
 * for real-time systems", ECRTS 2004): free blocks in lists by size class, the classes in use in
 * two levels of bitmaps, neighbours joined at once. Allocation and release take constant time.
 *
 * Pure logic over memory it is given: no lock, no way to get more, no panic. Blocks are multiples
 * of 16 bytes, with a header of 16 bytes that carries a check code, so that a pointer which is not
 * an allocated block is recognised (with a chance of 2^-16 to be missed for each garbage header).
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
    uint32_t second_map[TLSF_FIRST_COUNT]; /* the same within one first level */
    struct tlsf_block *free[TLSF_FIRST_COUNT][TLSF_SECOND_COUNT];
    struct tlsf_region *newest_region;
    size_t total_bytes; /* of regions */
    size_t used_bytes;  /* of allocated blocks with their headers */
    size_t peak_bytes;  /* highest used_bytes */
    bool damaged;       /* a free block was found overwritten; allocation answers NULL */
};

void tlsf_init(struct tlsf *tlsf);

/*
 * Gives it memory for good, aligned to 16 bytes, a multiple of 16, from TLSF_REGION_MINIMUM up to
 * TLSF_BYTES_MAXIMUM. Memory right behind the region added last extends that one. False: not taken.
 */
bool tlsf_add_region(struct tlsf *tlsf, void *memory, size_t bytes);

/* `alignment`: a power of two, >= 16. NULL if no free block is large enough. */
void *tlsf_allocate(struct tlsf *tlsf, size_t bytes, size_t alignment);

/* False, and nothing done, if `memory` is not an allocated block or a header beside it is
 * damaged. */
bool tlsf_free(struct tlsf *tlsf, void *memory);

/* Size of a region that serves this request for certain, 0 if none can. */
size_t tlsf_region_bytes(size_t bytes, size_t alignment);

/* Bytes usable in an allocated block. */
size_t tlsf_block_bytes(const void *memory);

/* For tests: walks everything; NULL, or what is wrong. */
const char *tlsf_check(const struct tlsf *tlsf);

#endif
