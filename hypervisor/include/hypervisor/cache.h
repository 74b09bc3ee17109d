/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Cache maintenance by virtual address, which EL2 maps at the same physical address. Memory that is
 * zeroed here is Normal, write-back, Inner Shareable: DC ZVA faults on Device memory.
 *
 * A maintenance instruction is executed in the order of the program relative to stores to the same
 * cache line, those of DC ZVA among them. So a line needs no barrier between its stores and its
 * clean (Arm ARM, "Ordering and completion of data and instruction cache instructions").
 */
#ifndef HYPERVISOR_CACHE_H
#define HYPERVISOR_CACHE_H

#include "hypervisor/registers.h"
#include <stdint.h>

/* Returns the bytes of the smallest line of the data caches (CTR_EL0.DminLine: log2 of its
 * words). */
static inline uint64_t cache_line_bytes(void)
{
    return UINT64_C(4) << (register_read(ctr_el0) >> 16 & 0xf);
}

/* Returns the bytes that cache_zero_block() zeroes, or 0 if it must not be called (DCZID_EL0.BS:
 * log2 of the block's words; DZP: DC ZVA is prohibited). */
static inline uint64_t cache_block_bytes(void)
{
    uint64_t type = register_read(dczid_el0);

    return (type & 1u << 4) != 0 ? 0 : UINT64_C(4) << (type & 0xf);
}

/* Zeroes the block at `at`, a multiple of its size. */
static inline void cache_zero_block(uint64_t at)
{
    __asm__ volatile("dc zva, %0" : : "r"(at) : "memory");
}

/* Writes the line of `at` to memory if it is dirty in any cache of the Inner Shareable domain, and
 * invalidates it in all of them (DC CIVAC: to the point of coherency). */
static inline void cache_clean_line(uint64_t at)
{
    __asm__ volatile("dc civac, %0" : : "r"(at) : "memory");
}

/* Returns after all maintenance that this processor has begun. */
static inline void cache_complete(void)
{
    __asm__ volatile("dsb sy" : : : "memory");
}

/* Invalidates the instruction caches of all processors, after cache_complete(). */
static inline void cache_forget_instructions(void)
{
    __asm__ volatile("ic ialluis\n\tdsb ish\n\tisb" : : : "memory");
}

#endif
