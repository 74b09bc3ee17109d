/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The disk's partition table, for clients whose part of the disk is a partition. The program reads
 * it once in its life, before clients are served: the ranges of running clients never move.
 */
#ifndef BACKEND_PARTITIONS_H
#define BACKEND_PARTITIONS_H

#include "backend/partition_table.h"
#include "disk.h"

struct partitions {
    struct partition_table table;
    uint8_t *memory; /* PARTITION_TABLE_BYTES that the disk can access, until the table was read */
    bool has_begun;
    bool is_over; /* the table was read, or can't be */
};

/* Reads on, as far as that is possible now. Returns true when reading has ended. Call it after
 * disk_collect(). */
bool partitions_tend(struct partitions *partitions, struct disk *disk);
/* Finds a partition of a table that was read. Returns NULL, or a static text that says why the
 * partition can't be used: it is missing, or has less than `sectors`. */
const char *partitions_find(const struct partitions *partitions, const char *name, uint64_t sectors,
                            uint64_t *start);

#endif
