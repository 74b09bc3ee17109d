/* SPDX-License-Identifier: BSD-2-Clause */
#include "memory/tables.h"

#include <stddef.h>

#define ENTRIES     512u
#define LEVEL_FIRST 1u
#define LEVEL_LAST  3u

/* Bits of a descriptor's type (Arm ARM D8.3). A table and a page have the same type. */
#define VALID        TABLES_VALID
#define TABLE        UINT64_C(2)
#define ADDRESS_MASK UINT64_C(0x0000fffffffff000)

static unsigned level_shift(unsigned level)
{
    return 12u + 9u * (LEVEL_LAST - level);
}

static uint64_t *entry_of(uint64_t *table, uint64_t input, unsigned level)
{
    return &table[input >> level_shift(level) & (ENTRIES - 1)];
}

static uint64_t *table_at(uint64_t entry)
{
    return (uint64_t *)(uintptr_t)(entry & ADDRESS_MASK);
}

/* Returns the next address of the pool at which `bytes` follow each other. A run has as many. */
static uint64_t next_address(const struct page_pool *pool, uint64_t bytes)
{
    uint64_t inside;

    if (pool->run == 0) {
        return pool->next;
    }
    inside = (pool->next - pool->first) % pool->period;
    return inside + bytes <= pool->run ? pool->next : pool->next + pool->period - inside;
}

uint64_t page_pool_take(struct page_pool *pool, uint64_t pages)
{
    uint64_t address = next_address(pool, pages * PAGE_BYTES);
    volatile uint64_t *word = (volatile uint64_t *)(uintptr_t)address;

    if (address > pool->end || pages > (pool->end - address) / PAGE_BYTES ||
        (pool->run != 0 && pages > pool->run / PAGE_BYTES)) {
        return 0;
    }
    pool->next = address + pages * PAGE_BYTES;
    for (uint64_t i = 0; i < pages * PAGE_BYTES / sizeof(*word); i++) {
        word[i] = 0;
    }
    return address;
}

/* Returns the table that the entry points to. If the entry is 0, allocates a table for it. Returns
 * NULL if the entry is a block, or if the pool is empty. */
static uint64_t *next_table(uint64_t *entry, struct page_pool *pool)
{
    if (*entry == 0) {
        uint64_t page = page_pool_take(pool, 1);

        *entry = page != 0 ? page | TABLE | VALID : 0;
    }
    return (*entry & TABLE) != 0 ? table_at(*entry) : NULL;
}

/* Maps one block or page, the largest that fits. Returns its size, or 0 if it can't be mapped. */
static uint64_t map_one(uint64_t *table, struct page_pool *pool, uint64_t input, uint64_t output,
                        uint64_t bytes, uint64_t attributes)
{
    for (unsigned level = LEVEL_FIRST; table != NULL; level++) {
        uint64_t *entry = entry_of(table, input, level);
        uint64_t size = UINT64_C(1) << level_shift(level);

        if (((input | output) & (size - 1)) == 0 && bytes >= size && *entry == 0) {
            *entry = output | attributes | VALID | (level == LEVEL_LAST ? TABLE : 0);
            return size;
        }
        table = level == LEVEL_LAST ? NULL : next_table(entry, pool);
    }
    return 0;
}

bool tables_map(uint64_t *root, struct page_pool *pool, uint64_t input, uint64_t output,
                uint64_t bytes, uint64_t attributes)
{
    if (((input | output | bytes) & (PAGE_BYTES - 1)) != 0 || input >= TABLES_INPUT_LIMIT ||
        bytes > TABLES_INPUT_LIMIT - input || (output & ~ADDRESS_MASK) != 0 ||
        bytes > ADDRESS_MASK - output) {
        return false;
    }
    while (bytes != 0) {
        uint64_t done = map_one(root, pool, input, output, bytes, attributes);

        if (done == 0) {
            return false;
        }
        input += done;
        output += done;
        bytes -= done;
    }
    return true;
}

bool tables_find(const uint64_t *root, uint64_t input, uint64_t *output, uint64_t *attributes)
{
    const uint64_t *table = root;

    for (unsigned level = LEVEL_FIRST; input < TABLES_INPUT_LIMIT; level++) {
        uint64_t entry = table[input >> level_shift(level) & (ENTRIES - 1)];
        uint64_t inside = input & ((UINT64_C(1) << level_shift(level)) - 1);

        if ((entry & VALID) == 0) {
            return false;
        }
        if (level == LEVEL_LAST || (entry & TABLE) == 0) {
            *output = (entry & ADDRESS_MASK & ~((UINT64_C(1) << level_shift(level)) - 1)) | inside;
            *attributes = entry & ~ADDRESS_MASK & ~(TABLE | VALID);
            return true;
        }
        table = table_at(entry);
    }
    return false;
}
