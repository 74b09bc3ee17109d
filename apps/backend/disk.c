/* SPDX-License-Identifier: BSD-2-Clause */
/* The life of the disk's driver, and its requests. */
#include "disk.h"

#include "kernel/print.h"
#include "kernel/time.h"

/* Time between two attempts to restart the disk, doubled after each failure. A disk that has run
 * for HEALTHY before it failed starts at the minimum again (docs/recovery.md). */
#define PAUSE_MIN (10 * NANOSECONDS_PER_MILLISECOND)
#define PAUSE_MAX (10 * NANOSECONDS_PER_SECOND)
#define HEALTHY   (10 * NANOSECONDS_PER_SECOND)

/* Period of the checks of the device's status (virtio/block.h). */
#define WATCH NANOSECONDS_PER_SECOND

/* A disk that finishes no request for so long is reset: disks that lay idle need seconds to start.
 */
#define PATIENCE (30 * NANOSECONDS_PER_SECOND)
/* Requests wait for a disk that is restarted for so long, and fail then. */
#define OUTAGE_MAX (30 * NANOSECONDS_PER_SECOND)

static void wake(void *context)
{
    struct disk *disk = context;

    (void)semaphore_post(disk->wake);
}

static const struct virtio_block_operations operations = {.signal = wake};
static const struct virtio_block_parameters parameters = {.requests = DISK_REQUESTS};

bool disk_find(struct disk *disk, struct semaphore *semaphore)
{
    disk->wake = semaphore;
    disk->pause = PAUSE_MIN;
    if (virtio_find_block(&disk->device) != RESULT_OK) {
        print("backend: no virtio block device: requests of the clients fail\n");
        return false;
    }
    disk->state = DISK_STOPPED;
    disk->lost = time_now();
    return true;
}

/* Sets the time of the next attempt. */
static void pause_until(struct disk *disk, uint64_t now)
{
    disk->attempt = now + disk->pause;
    disk->pause = 2 * disk->pause < PAUSE_MAX ? 2 * disk->pause : PAUSE_MAX;
}

/* Returns why the disk can't serve transfers of the storage, NULL if it can. A request is one of
 * its transfers, in one segment. */
static const char *check_geometry(const struct virtio_block_geometry *geometry)
{
    if (geometry->block_bytes != VIRTIO_BLOCK_SECTOR_BYTES) {
        return "its blocks are larger than 512 bytes, and clients write single sectors";
    }
    return (uint64_t)geometry->segments_max * geometry->segment_bytes_max < STORAGE_TRANSFER_BYTES
               ? "it takes no requests of 32 KiB"
               : NULL;
}

/* Creates the driver and connects it. Returns NULL, or why it can't be. */
static const char *create(struct disk *disk)
{
    const char *reason = NULL;

    if (disk->failures != 0 && !virtio_block_restore(&disk->device, &reason)) {
        return reason;
    }
    disk->block =
        virtio_block_create(disk->device.transport, &parameters, &operations, disk, &reason);
    if (disk->block == NULL) {
        return reason;
    }
    reason = check_geometry(virtio_block_geometry(disk->block));
    if (reason == NULL && !virtio_block_connect(&disk->device, disk->block)) {
        reason = "its interrupt can't be attached";
    }
    return reason;
}

static bool start(struct disk *disk, uint64_t now)
{
    const char *reason = create(disk);

    if (reason != NULL) {
        if (reason != disk->reported) {
            print("backend: the disk can't be started yet: %s\n", reason);
            disk->reported = reason;
        }
        disk->failures++;
        disk->state = disk->block == NULL ? DISK_STOPPED : DISK_STOPPING;
        pause_until(disk, now);
        return false;
    }
    disk->state = DISK_RUNNING;
    disk->starts++;
    disk->reported = NULL;
    disk->started = now;
    disk->watched = now;
    disk->progress = now;
    if (disk->failures != 0) {
        print("backend: the disk was restarted\n");
    }
    return true;
}

/* Resets the disk: afterwards it executes none of its requests any more, and disk_collect() has
 * given them back. The driver is freed then. */
static void stop(struct disk *disk, uint64_t now)
{
    if (!virtio_block_stop(disk->block)) {
        pause_until(disk, now);
    }
}

/* Returns why the disk has to be reset, NULL if it has not. */
static const char *find_failure(struct disk *disk, uint64_t now)
{
    uint64_t finished = virtio_block_statistics(disk->block)->finished;

    if (now - disk->watched >= WATCH) {
        disk->watched = now;
        virtio_block_watch(disk->block);
    }
    if (finished != disk->finished || virtio_block_in_flight(disk->block) == 0) {
        disk->finished = finished;
        disk->progress = now;
    }
    if (now - disk->progress >= PATIENCE) {
        return "it finishes no request";
    }
    return virtio_block_broken(disk->block);
}

static bool watch(struct disk *disk, uint64_t now)
{
    const char *failure = find_failure(disk, now);

    if (failure == NULL) {
        return false;
    }
    print("backend: the disk has failed: %s\n", failure);
    (void)virtio_block_connect(&disk->device, NULL);
    disk->failures++;
    disk->state = DISK_STOPPING;
    disk->attempt = now;
    disk->lost = now;
    if (now - disk->started >= HEALTHY) {
        disk->pause = PAUSE_MIN;
    } else {
        pause_until(disk, now);
    }
    return true;
}

bool disk_tend(struct disk *disk, uint64_t now)
{
    bool has_changed = disk->state == DISK_RUNNING && watch(disk, now);

    if (disk->state == DISK_STOPPING && now >= disk->attempt) {
        stop(disk, now);
    }
    if (disk->state == DISK_STOPPED && now >= disk->attempt) {
        has_changed = start(disk, now) || has_changed;
    }
    return has_changed || disk->state != DISK_RUNNING;
}

uint64_t disk_due(const struct disk *disk)
{
    switch (disk->state) {
    case DISK_RUNNING:
        return disk->watched + WATCH;
    case DISK_STOPPED:
    case DISK_STOPPING:
        return disk->attempt;
    case DISK_ABSENT:
    default:
        return DEADLINE_NONE;
    }
}

struct storage_disk disk_describe(const struct disk *disk, uint64_t now)
{
    const struct virtio_block_geometry *geometry;

    if (disk->state != DISK_RUNNING) {
        /* A disk that has not confirmed its reset has the memory of its transfers. */
        bool is_gone = disk->state == DISK_ABSENT ||
                       (disk->state == DISK_STOPPED && now - disk->lost >= OUTAGE_MAX);

        return (struct storage_disk){.state = is_gone ? STORAGE_GONE : STORAGE_CLOSED};
    }
    geometry = virtio_block_geometry(disk->block);
    return (struct storage_disk){
        .state = STORAGE_OPEN,
        .sectors = geometry->sectors,
        .is_read_only = geometry->is_read_only,
        .is_write_back = geometry->is_write_back,
    };
}

/* NOLINTNEXTLINE(readability-non-const-parameter): the disk writes to it */
bool disk_read(struct disk *disk, uint64_t sector, uint32_t bytes, uint8_t *memory)
{
    disk->read = (struct virtio_block_request){
        .kind = VIRTIO_BLOCK_READ,
        .sector = sector,
        .segment_count = 1,
        .segment = {{memory, bytes}},
    };
    if (disk->state != DISK_RUNNING ||
        virtio_block_submit(disk->block, &disk->read) != VIRTIO_BLOCK_ACCEPTED) {
        return false;
    }
    disk->read_state = DISK_READ_SUBMITTED;
    return true;
}

static const enum virtio_block_kind kinds[] = {
    [STORAGE_READ] = VIRTIO_BLOCK_READ,
    [STORAGE_WRITE] = VIRTIO_BLOCK_WRITE,
    [STORAGE_FLUSH] = VIRTIO_BLOCK_FLUSH,
};

bool disk_submit(struct disk *disk, struct storage_transfer *transfer)
{
    struct virtio_block_request *request =
        &disk->requests[transfer->client * STORAGE_TRANSFERS + transfer->number];

    *request = (struct virtio_block_request){
        .owner = transfer,
        .kind = kinds[transfer->kind],
        .sector = transfer->sector,
        .segment_count = transfer->bytes != 0,
        .segment = {{transfer->memory, transfer->bytes}},
    };
    /* Each transfer is valid for the disk that disk_describe() has described. One that has failed
     * since then refuses it, and it is submitted again later. */
    return virtio_block_submit(disk->block, request) == VIRTIO_BLOCK_ACCEPTED;
}

void disk_kick(struct disk *disk)
{
    if (disk->state == DISK_RUNNING) {
        virtio_block_kick(disk->block);
    }
}

static const enum storage_result results[] = {
    [VIRTIO_BLOCK_DONE] = STORAGE_DONE,
    [VIRTIO_BLOCK_FAILED] = STORAGE_ERROR,
    [VIRTIO_BLOCK_LOST] = STORAGE_AGAIN,
};

static const enum disk_read_state read_states[] = {
    [VIRTIO_BLOCK_DONE] = DISK_READ_DONE,
    [VIRTIO_BLOCK_FAILED] = DISK_READ_FAILED,
    [VIRTIO_BLOCK_LOST] = DISK_READ_NONE,
};

void disk_collect(struct disk *disk, struct storage *storage)
{
    struct virtio_block_request *request;

    if (disk->block == NULL) {
        return;
    }
    while ((request = virtio_block_finished(disk->block)) != NULL) {
        if (request == &disk->read) {
            disk->read_state = read_states[request->result];
        } else {
            storage_finished(storage, request->owner, results[request->result]);
        }
    }
    if (disk->state == DISK_STOPPING && virtio_block_is_stopped(disk->block)) {
        virtio_block_free(disk->block);
        disk->block = NULL;
        disk->state = DISK_STOPPED;
    }
}

bool disk_sleep(struct disk *disk)
{
    bool is_idle;

    if (disk->state != DISK_RUNNING) {
        return true;
    }
    is_idle = virtio_block_rearm(disk->block);
    virtio_block_unmask(&disk->device);
    return is_idle;
}
