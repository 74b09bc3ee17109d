/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Translation tables with a granule of 4 KiB and 39-bit input addresses, so that the walk starts at
 * level 1 with a root of one page (Arm ARM, "The AArch64 Virtual Memory System Architecture",
 * VMSAv8-64). The same code makes stage 2 tables for partitions and stage 1 tables of EL2 for
 * monitors; only the attributes differ. Only boot code calls these functions, and no MMU uses the
 * tables meanwhile. memory/withdraw.h changes stage 2 later.
 */
#ifndef HYPERVISOR_TABLES_H
#define HYPERVISOR_TABLES_H

#include <stdbool.h>
#include <stdint.h>

#define PAGE_BYTES         UINT64_C(4096)
#define TABLES_INPUT_BITS  39u
#define TABLES_INPUT_LIMIT (UINT64_C(1) << TABLES_INPUT_BITS)
#define TABLES_VALID       UINT64_C(1) /* valid bit of a descriptor (Arm ARM D8.3) */

/* Attribute bits of block and page descriptors. RW in stage 2: the guest may read and write.
 * "Attribute n" is an index of MONITOR_MAIR. */
#define STAGE2_MEMORY     UINT64_C(0x00000000000007fc) /* AF, Inner Shareable, RW, write-back */
#define STAGE2_CONSTANTS  UINT64_C(0x004000000000077c) /* STAGE2_MEMORY, but XN and read-only */
#define STAGE2_DATA       UINT64_C(0x00400000000007fc) /* STAGE2_MEMORY, but XN */
#define STAGE2_DEVICE     UINT64_C(0x00400000000004c4) /* XN, AF, RW, Device-nGnRE */
#define MONITOR_CODE      UINT64_C(0x00000000000007c0) /* AF, Inner Shareable, RO, attribute 0 */
#define MONITOR_CONSTANTS UINT64_C(0x00400000000007c0) /* MONITOR_CODE and XN */
#define MONITOR_DATA      UINT64_C(0x0040000000000740) /* XN, AF, Inner Shareable, RW, attribute 0 */
#define MONITOR_DEVICE    UINT64_C(0x0040000000000444) /* XN, AF, RW, attribute 1 */
#define MONITOR_MAIR      UINT64_C(0x04ff) /* 0: Normal, write-back, allocate; 1: Device-nGnRE */

/* STAGE2_CONSTANTS and STAGE2_DATA for memory that is not cached, whatever attributes the guest's
 * own tables have (Arm ARM, "Combining memory type and cacheability attributes"). */
#define STAGE2_UNCACHED_CONSTANTS UINT64_C(0x0040000000000754)
#define STAGE2_UNCACHED_DATA      UINT64_C(0x00400000000007d4)

/* Returns `bytes` rounded up to whole pages. */
static inline uint64_t page_up(uint64_t bytes)
{
    return (bytes + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1);
}

/* Returns the index of the root's entry for an input address. */
static inline uint64_t tables_root_index(uint64_t input)
{
    return input >> 30;
}

/* A pool of pages for tables and other permanent data. Pages are allocated upwards from `next`, are
 * zeroed, and are never freed. With colours of a cache the pool has runs of `run` bytes, which
 * begin `period` bytes apart. */
struct page_pool {
    uint64_t next;
    uint64_t end;
    uint64_t first;  /* begin of a run; unused without colours */
    uint64_t run;    /* 0: without colours */
    uint64_t period; /* a power of two */
};

/* Allocates contiguous pages. Returns their address, or 0 if the pool has too few left, or if they
 * are longer than a run. */
uint64_t page_pool_take(struct page_pool *pool, uint64_t pages);

/*
 * Maps [input, input + bytes) to [output, output + bytes) with the largest blocks that the
 * alignment of both allows. `root`: a page of the pool. Returns false if the ranges are not whole
 * pages or exceed the address limits, if a part is mapped already, or if the pool is empty. Then a
 * part may be mapped.
 */
bool tables_map(uint64_t *root, struct page_pool *pool, uint64_t input, uint64_t output,
                uint64_t bytes, uint64_t attributes);

/* Returns true if `input` is mapped, and sets *output and *attributes. Otherwise returns false. */
bool tables_find(const uint64_t *root, uint64_t input, uint64_t *output, uint64_t *attributes);

#endif
