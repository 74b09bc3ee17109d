/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The symbol table, as tools/symbol_table.py writes it: the number of symbols, their offsets from
 * the image's start in ascending order, and the names, each ended by a zero byte, in the same
 * order.
 */
#include "panic/symbols.h"

#include <arch/image.h>
#include <stddef.h>

extern const uint32_t symbol_table[]; /* defined by the linker script */

static uint32_t symbol_count(void)
{
    return symbol_table[0];
}

static const uint32_t *symbol_offsets(void)
{
    return &symbol_table[1];
}

/* Walks all names before the wanted one: the table is read in a panic only, where time does not
 * matter, and an index would cost memory. */
static const char *name_at(size_t index)
{
    const char *name = (const char *)&symbol_offsets()[symbol_count()];

    while (index > 0) {
        while (*name != '\0') {
            name++;
        }
        name++;
        index--;
    }
    return name;
}

const char *symbol_find(uintptr_t address, uintptr_t *offset)
{
    const uint32_t *offsets = symbol_offsets();
    uintptr_t wanted = address - (uintptr_t)image_start;
    size_t low = 0;
    size_t high = symbol_count();

    while (low < high) {
        size_t middle = low + (high - low) / 2;

        if (offsets[middle] <= wanted) {
            low = middle + 1;
        } else {
            high = middle;
        }
    }
    if (low == 0 || address < (uintptr_t)image_start) {
        return NULL;
    }
    *offset = wanted - offsets[low - 1];
    return name_at(low - 1);
}
