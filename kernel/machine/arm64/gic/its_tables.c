/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ITS's own tables of devices and collections (IHI 0069, 5.2 and GITS_BASER<n>): flat, and as
 * small as their pages permit.
 */
#include "gic/gic_private.h"
#include "gic/its_private.h"
#include <arch/device_access.h>
#include <devices/gic_registers.h>

#define TABLE_PAGES_MAX 256u /* GITS_BASER<n>.Size: 8 bits, minus 1 */

static uintptr_t table_register(const struct its_tables *tables, unsigned index)
{
    return tables->registers + GITS_BASER + (uintptr_t)index * 8;
}

/* Returns the encoding of the page size (0: 4 KiB, 1: 16 KiB, 2: 64 KiB) that
 * GITS_BASER<n>.Page_Size keeps when the smallest is written: it may be fixed. Makes the table
 * invalid. */
static unsigned page_size_of(uintptr_t address)
{
    unsigned encoding;

    device_write64(address, 0);
    encoding = device_read64(address) >> 8 & 3;
    return encoding > 2 ? 2 : encoding;
}

/* Gives GITS_BASER<index> a table of `entries`. *limit gets the number of entries in it. */
static enum result table_init(struct its_tables *tables, unsigned index, uint64_t entries,
                              uint64_t *limit)
{
    struct its_table *table = &tables->table[index];
    uintptr_t address = table_register(tables, index);
    unsigned page_size = page_size_of(address);
    size_t page_bytes = (size_t)4096 << 2 * page_size;
    uint64_t entry_bytes = (device_read64(address) >> 48 & 0x1F) + 1;
    uint64_t pages = (entries * entry_bytes + page_bytes - 1) / page_bytes;

    if (pages > TABLE_PAGES_MAX) {
        return RESULT_UNSUPPORTED;
    }
    table->memory = gic_table_allocate(pages * page_bytes, page_bytes);
    if (table->memory == NULL) {
        return RESULT_NO_MEMORY;
    }
    table->bytes = pages * page_bytes;
    tables->coherent = gic_write_table_register(address,
                                                GITS_BASER_VALID | (uint64_t)page_size << 8 |
                                                    (uintptr_t)table->memory | (pages - 1),
                                                GITS_BASER_CACHE_SHIFT);
    gic_publish(table->memory, table->bytes, tables->coherent);
    *limit = table->bytes / entry_bytes;
    return RESULT_OK;
}

enum result its_tables_init(struct its_tables *tables, uintptr_t registers, uint64_t type,
                            uint16_t collection, uint32_t highest_device)
{
    /* GITS_TYPER.Devbits: number of bits of a device id, minus 1. GITS_TYPER.HCC: number of
     * collections that the ITS holds without memory. */
    uint64_t representable = UINT64_C(1) << ((type >> 13 & 0x1F) + 1);
    bool holds_collection = (type >> 24 & 0xFF) > collection;
    uint64_t wanted = (uint64_t)highest_device + 1;
    enum result result = RESULT_OK;

    *tables = (struct its_tables){.registers = registers, .device_limit = representable};
    for (unsigned index = 0; index < GITS_BASER_COUNT && result == RESULT_OK; index++) {
        unsigned kind = device_read64(table_register(tables, index)) >> 56 & 7;
        uint64_t limit = representable;

        if (kind == GITS_BASER_DEVICES) {
            result =
                table_init(tables, index, wanted < representable ? wanted : representable, &limit);
            tables->device_limit = limit < representable ? limit : representable;
        } else if (kind == GITS_BASER_COLLECTIONS && !holds_collection) {
            result = table_init(tables, index, collection + 1u, &limit);
        }
    }
    return result;
}

void its_tables_free(struct its_tables *tables)
{
    for (unsigned index = 0; index < GITS_BASER_COUNT; index++) {
        struct its_table *table = &tables->table[index];

        if (table->memory != NULL) {
            device_write64(table_register(tables, index), 0);
            gic_table_free(table->memory, table->bytes);
            *table = (struct its_table){.memory = NULL};
        }
    }
}

size_t its_tables_bytes(const struct its_tables *tables)
{
    size_t bytes = 0;

    for (unsigned index = 0; index < GITS_BASER_COUNT; index++) {
        bytes += tables->table[index].bytes;
    }
    return bytes;
}
