/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The GUID partition table of a disk with sectors of 512 bytes (UEFI 2.10, 5.3), which a program
 * reads in steps:
 *
 *   partition_table_begin()
 *   while partition_table_next():   the sectors to read now
 *       partition_table_continue()  with their content, or without if they can't be read
 *   partition_table_find()          for each name, while the content of the last step is there
 *
 * The first table is used, or the second at the disk's end if the first is damaged (5.3.2). The
 * content is not trusted: a table that breaks a rule is damaged. No function waits. The caller
 * serialises all calls for a table. Any context.
 */
#ifndef BACKEND_PARTITION_TABLE_H
#define BACKEND_PARTITION_TABLE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The most that a step reads, in bytes: 256 entries of 128 bytes, twice the usual number. A table
 * with more is not read. */
#define PARTITION_TABLE_BYTES 32768u

/* Characters of a partition's name (5.3.3: PartitionName). */
#define PARTITION_NAME_MAX 36u

enum partition_table_state {
    PARTITION_TABLE_HEADER, /* to be read, as are: */
    PARTITION_TABLE_ENTRIES,
    PARTITION_TABLE_COMPLETE,
    PARTITION_TABLE_FAILED,
};

struct partition_table {
    enum partition_table_state state;
    bool is_backup;      /* the second table is read, or was */
    const char *failure; /* why the first table can't be used: a static text, or NULL */

    /* Private to partition_table.c. */
    uint64_t disk_sectors;
    uint64_t entries_sector;
    uint64_t first_usable, last_usable; /* sectors that partitions may have */
    uint32_t entry_bytes;
    uint32_t entry_count;
    uint32_t entries_checksum;
};

/* Sectors to read. */
struct partition_table_step {
    uint64_t sector;
    uint32_t bytes; /* whole sectors, at most PARTITION_TABLE_BYTES; inside the disk */
};

/* A partition. */
struct partition_range {
    uint64_t start;   /* its first sector */
    uint64_t sectors; /* > 0; inside the disk */
};

void partition_table_begin(struct partition_table *table, uint64_t disk_sectors);
/* Returns false if there is nothing to read: the table is complete, or has failed. */
bool partition_table_next(const struct partition_table *table, struct partition_table_step *step);
/* `content`: of the sectors that partition_table_next() names, NULL if they can't be read. */
void partition_table_continue(struct partition_table *table, const uint8_t *content);

/* Finds a partition by its name, which has printable ASCII characters. `content`: as given to the
 * last partition_table_continue(), unchanged. Returns NULL, or a static text that says why the
 * partition can't be used. The table is complete. */
const char *partition_table_find(const struct partition_table *table, const uint8_t *content,
                                 const char *name, struct partition_range *range);

#endif
