/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The disk of the back-end: starts its driver, starts it again when it fails, and passes transfers
 * of the storage on. One thread uses it, but for the functions that the driver calls.
 */
#ifndef BACKEND_DISK_H
#define BACKEND_DISK_H

#include "backend/storage.h"
#include "block_discovery.h"
#include "kernel/sync.h"

#define DISK_REQUESTS (STORAGE_CLIENTS_MAX * STORAGE_TRANSFERS)

enum disk_state {
    DISK_ABSENT,
    DISK_STOPPED, /* to be started */
    DISK_RUNNING,
    DISK_STOPPING, /* has not confirmed its reset */
};

enum disk_read_state {
    DISK_READ_NONE,
    DISK_READ_SUBMITTED,
    DISK_READ_DONE,
    DISK_READ_FAILED,
};

struct disk {
    struct virtio_block_device device;
    enum disk_state state;
    struct virtio_block *block; /* but for DISK_ABSENT and DISK_STOPPED */
    struct semaphore *wake;
    const char *reported; /* why it can't be started */
    uint64_t started, watched;
    uint64_t lost;    /* since when it is not running */
    uint64_t attempt; /* time of the next one */
    uint64_t pause;   /* before the attempt after that */
    uint64_t starts;
    uint64_t failures;
    uint64_t finished; /* requests, when that was looked at last */
    uint64_t progress; /* when it was seen to have changed, or nothing was on its way */
    struct virtio_block_request requests[DISK_REQUESTS]; /* by client and number of the transfer */
    struct virtio_block_request read;                    /* disk_read()'s */
    enum disk_read_state read_state;
};

/* Finds the disk. `wake` is posted when it has finished a request. Returns false if there is none;
 * a line on the console says so. */
bool disk_find(struct disk *disk, struct semaphore *wake);

/* Starts, watches, stops and restarts the driver, as far as it is time for that. Returns true if
 * disk_describe() may have changed. Transfers of a disk that failed are then given back by
 * disk_collect(). */
bool disk_tend(struct disk *disk, uint64_t now);
/* Returns when disk_tend() has to be called next. */
uint64_t disk_due(const struct disk *disk);
struct storage_disk disk_describe(const struct disk *disk, uint64_t now);

/* Reads whole sectors for the program itself, while the storage has no transfers: at most
 * STORAGE_TRANSFER_BYTES. disk_collect() sets the state when the disk has finished, and to
 * DISK_READ_NONE if it was reset meanwhile. Returns false if the disk takes no request now. */
bool disk_read(struct disk *disk, uint64_t sector, uint32_t bytes, uint8_t *memory);

/* The storage's submit(). */
bool disk_submit(struct disk *disk, struct storage_transfer *transfer);
/* Notifies the disk of what was submitted. */
void disk_kick(struct disk *disk);
/* Passes finished transfers on. In a round. */
void disk_collect(struct disk *disk, struct storage *storage);
/* Asks the disk to interrupt. Returns false if it has work already. */
bool disk_sleep(struct disk *disk);

#endif
