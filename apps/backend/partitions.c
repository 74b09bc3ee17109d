/* SPDX-License-Identifier: BSD-2-Clause */
/* See partitions.h. */
#include "partitions.h"

#include "kernel/print.h"

_Static_assert(PARTITION_TABLE_BYTES <= STORAGE_TRANSFER_BYTES, "a step is one request");

static void report(const struct partition_table *table)
{
    if (table->state == PARTITION_TABLE_FAILED) {
        print("backend: requests to partitions of the disk fail: %s\n", table->failure);
    } else if (table->failure != NULL) {
        print("backend: the disk's second partition table is used: %s\n", table->failure);
    }
}

/* Passes on what was read. Returns false if the disk still reads. */
static bool take(struct partitions *partitions, struct disk *disk)
{
    switch (disk->read_state) {
    case DISK_READ_SUBMITTED:
        return false;
    case DISK_READ_DONE:
        partition_table_continue(&partitions->table, partitions->memory);
        break;
    case DISK_READ_FAILED:
        partition_table_continue(&partitions->table, NULL);
        break;
    case DISK_READ_NONE: /* the disk took no request */
    default:
        break;
    }
    disk->read_state = DISK_READ_NONE;
    return true;
}

bool partitions_tend(struct partitions *partitions, struct disk *disk)
{
    struct partition_table_step step;

    if (partitions->is_over) {
        return true;
    }
    if (disk->state != DISK_RUNNING) {
        partitions->has_begun = false; /* it may come back as another one */
        return false;
    }
    if (!partitions->has_begun) {
        partition_table_begin(&partitions->table, virtio_block_geometry(disk->block)->sectors);
        partitions->has_begun = true;
    } else if (!take(partitions, disk)) {
        return false;
    }
    if (partition_table_next(&partitions->table, &step)) {
        (void)disk_read(disk, step.sector, step.bytes, partitions->memory);
        return false;
    }
    partitions->is_over = true;
    report(&partitions->table);
    return true;
}

const char *partitions_find(const struct partitions *partitions, const char *name, uint64_t sectors,
                            uint64_t *start)
{
    struct partition_range range;
    const char *reason = "the disk has no partition table that can be used";

    if (partitions->table.state == PARTITION_TABLE_COMPLETE) {
        reason = partition_table_find(&partitions->table, partitions->memory, name, &range);
    }
    if (reason == NULL && range.sectors < sectors) {
        reason = "its partition is smaller than its size";
    }
    if (reason == NULL) {
        *start = range.start;
    }
    return reason;
}
