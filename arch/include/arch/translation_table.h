/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Translation tables of stage 1 with a 4 KiB granule and 48-bit addresses, mapped one to one (Arm
 * ARM, "The AArch64 Virtual Memory System Architecture"). Pure logic: it is also compiled for the
 * host, where a test defines the functions of table_maintenance.h.
 *
 * Invariant: every table lies in memory that is mapped by pages, never by a block. So
 * break-before-make of a block never hides a table that this code writes to.
 */
#ifndef ARCH_TRANSLATION_TABLE_H
#define ARCH_TRANSLATION_TABLE_H

#include <arch/result.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRANSLATION_PAGE_BYTES    UINT64_C(4096)
#define TRANSLATION_TABLE_ENTRIES 512u
#define TRANSLATION_ADDRESS_LIMIT (UINT64_C(1) << 48)

/* The use of a range. All uses but TRANSLATION_UNMAPPED are readable. Only code is executable, and
 * it is not writable. */
enum translation_use {
    TRANSLATION_UNMAPPED,
    TRANSLATION_CODE,
    TRANSLATION_CONSTANTS,
    TRANSLATION_DATA,
    TRANSLATION_DEVICE /* Device-nGnRE, writable */
};

/* Capacity of the reserve: the tables that the boot needs (mmu_reserve.c). Later, a page inside a 1
 * GiB block takes two. */
#define TRANSLATION_RESERVE 8u

struct translation {
    uint64_t *root;
    /* spare pages for tables: any content, mapped by pages */
    uint64_t *reserve[TRANSLATION_RESERVE];
    unsigned reserve_count;
    size_t table_count; /* tables in use, the root included */
};

/* Makes an empty translation. `root`: an aligned page, whose content is overwritten. */
void translation_init(struct translation *translation, uint64_t *root);

/* Adds a page to the reserve. Returns false if the reserve is full; the page then remains the
 * caller's. */
bool translation_reserve_add(struct translation *translation, uint64_t *page);

/*
 * Maps [address, address + bytes) for a use, with the largest blocks that fit. Parts that are
 * already mapped for that use stay. Returns RESULT_OK, RESULT_INVALID (not whole pages, or beyond
 * the address limit), RESULT_BUSY (a part is mapped for another use) or RESULT_NO_MEMORY (the
 * reserve ran out). On an error nothing is mapped.
 */
enum result translation_map(struct translation *translation, uint64_t address, uint64_t bytes,
                            enum translation_use use);

/* Unmaps the mapped parts of the range, and splits blocks that the range cuts. Returns RESULT_OK,
 * RESULT_INVALID or RESULT_NO_MEMORY, as translation_map(). On an error nothing is unmapped. */
enum result translation_unmap(struct translation *translation, uint64_t address, uint64_t bytes);

/* Returns the use for which the page at `address` is mapped, and sets *block_bytes, unless it is
 * NULL, to the size of the block or page that maps it. */
enum translation_use translation_find(const struct translation *translation, uint64_t address,
                                      uint64_t *block_bytes);

/* Splits the blocks that map `address` until pages map it, so that a table can lie there. Returns
 * RESULT_OK or RESULT_NO_MEMORY. */
enum result translation_split(struct translation *translation, uint64_t address);

#endif
