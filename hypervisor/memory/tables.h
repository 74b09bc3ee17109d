/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Translation tables with a 4 KiB granule and 39-bit input addresses, so that the walk begins at
 * level 1 with one page (Arm ARM, "The AArch64 Virtual Memory System Architecture", VMSAv8-64).
 * The same logic makes stage 2 for partitions and stage 1 of EL2 for monitors: only the attributes
 * differ. Boot only: no table is changed while it is used.
 */
#ifndef HYPERVISOR_TABLES_H
#define HYPERVISOR_TABLES_H

#include <stdbool.h>
#include <stdint.h>

#define PAGE_BYTES         UINT64_C(4096)
#define TABLES_INPUT_BITS  39u
#define TABLES_INPUT_LIMIT (UINT64_C(1) << TABLES_INPUT_BITS)

/* Attribute bits of a block or page descriptor. Stage 2: readable and writable by the guest. */
#define STAGE2_MEMORY                                                          \
    UINT64_C(0x00000000000007fc) /* AF, Inner Shareable, RW, Normal write-back \
                                  */
#define STAGE2_DEVICE     UINT64_C(0x00400000000004c4) /* XN, AF, RW, Device-nGnRE */
#define MONITOR_CODE      UINT64_C(0x00000000000007c0) /* AF, Inner Shareable, RO, attribute 0 */
#define MONITOR_CONSTANTS UINT64_C(0x00400000000007c0) /* and XN */
#define MONITOR_DATA      UINT64_C(0x0040000000000740) /* XN, AF, Inner Shareable, RW, attribute 0 */
#define MONITOR_DEVICE    UINT64_C(0x0040000000000444) /* XN, AF, RW, attribute 1 */
#define MONITOR_MAIR      UINT64_C(0x04ff) /* 0: Normal, write-back, allocate; 1: Device-nGnRE */

/* The next multiple of a page. */
static inline uint64_t page_up(uint64_t bytes)
{
    return (bytes + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1);
}

/* Where pages for tables, and for whatever lasts, come from: given out upwards, zeroed. */
struct page_pool {
    uint64_t next;
    uint64_t end;
};

/* One page, or `pages` in a row; 0: there are no more. */
uint64_t page_pool_take(struct page_pool *pool, uint64_t pages);

/*
 * Maps [input, input + bytes) to [output, ...) with the largest blocks that both allow. `root`: a
 * page of the pool. False: not whole pages, beyond the limit, mapped already, or the pool is empty;
 * then some of it may be mapped.
 */
bool tables_map(uint64_t *root, struct page_pool *pool, uint64_t input, uint64_t output,
                uint64_t bytes, uint64_t attributes);

/* Where `input` is mapped to, and with which attributes; false: nowhere. */
bool tables_find(const uint64_t *root, uint64_t input, uint64_t *output, uint64_t *attributes);

#endif
