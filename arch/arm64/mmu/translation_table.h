/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Translation tables of stage 1 with a 4 KiB granule and 48-bit addresses, mapped one to one (Arm
 * ARM, "The AArch64 Virtual Memory System Architecture"). Pure logic: it compiles for the host as
 * well, where a test gives it table_maintenance.h of its own.
 *
 * Rule that all depends on: every table lies in memory that is mapped by pages, never by a block.
 * So a block can be broken and made again without hiding a table that this code writes to.
 */
#ifndef TRANSLATION_TABLE_H
#define TRANSLATION_TABLE_H

#include <arch/result.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define TRANSLATION_PAGE_BYTES    UINT64_C(4096)
#define TRANSLATION_TABLE_ENTRIES 512u
#define TRANSLATION_ADDRESS_LIMIT (UINT64_C(1) << 48)

/* What a range is for. Readable always; only code is executable, and it is not writable. */
enum translation_use {
    TRANSLATION_UNMAPPED,
    TRANSLATION_CODE,
    TRANSLATION_CONSTANTS,
    TRANSLATION_DATA,
    TRANSLATION_DEVICE /* Device-nGnRE, writable */
};

/* Two for a split of a 1 GiB block, as many for the table page that it comes with. */
#define TRANSLATION_RESERVE 8u

struct translation {
    uint64_t *root;
    /* Pages for tables: any content, mapped by pages. */
    uint64_t *reserve[TRANSLATION_RESERVE];
    unsigned reserve_count;
    size_t table_count; /* in use, the root included */
};

/* `root`: a page, aligned. Its content is overwritten. */
void translation_init(struct translation *translation, uint64_t *root);

/* Gives a page for tables. False: the reserve is full, the page stays the caller's. */
bool translation_reserve_add(struct translation *translation, uint64_t *page);

/*
 * Maps [address, address + bytes) for a use, by the largest blocks. What is mapped for that use
 * already stays. RESULT_INVALID (not whole pages, or beyond the address limit), RESULT_BUSY (a part
 * is mapped for another use), RESULT_NO_MEMORY (the reserve ran out). Nothing is mapped unless
 * RESULT_OK.
 */
enum result translation_map(struct translation *translation, uint64_t address, uint64_t bytes,
                            enum translation_use use);

/* Takes away the mapping, if there is one; splits blocks that the range cuts.
 * RESULT_INVALID, RESULT_NO_MEMORY: nothing is unmapped. */
enum result translation_unmap(struct translation *translation, uint64_t address, uint64_t bytes);

/* What the page at `address` is mapped for, and (if not NULL) by which size of block or page. */
enum translation_use translation_find(const struct translation *translation, uint64_t address,
                                      uint64_t *block_bytes);

/* Maps the block around `address` by pages, so that tables can lie there. RESULT_NO_MEMORY. */
enum result translation_split(struct translation *translation, uint64_t address);

#endif
