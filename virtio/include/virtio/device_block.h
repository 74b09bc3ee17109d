/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The device's side of a block device with one queue (VIRTIO 1.3, 5.2), for a device in software
 * that serves a driver in another partition or process. It checks requests, and moves their data
 * between the driver's memory and the caller's, who has the disk.
 *
 * Requests are finished in the order in which they were taken, so the used index is the whole
 * record of a device. A later life takes what was not finished once more: its reads and writes have
 * the same effect (docs/decisions/0094-shared-disk.md).
 *
 * The driver is not trusted. A bad request is answered with an error and counted. If the queue
 * can't go on (virtio/device_queue.h), its `broken` has the reason, and nothing moves any more
 * until the driver resets the device. The data of a request may change until it is finished.
 *
 * device_block_finish() does not publish: the caller does so with device_queue_publish(), once for
 * a batch, and interrupts the driver if that returns true. The caller also uses
 * device_queue_suppress() and _enable() of the queue.
 *
 * The caller serialises all calls for one device. No function waits, and each takes no longer than
 * a chain of as many descriptors as the queue has, and the bytes to copy. Any context.
 */
#ifndef VIRTIO_DEVICE_BLOCK_H
#define VIRTIO_DEVICE_BLOCK_H

#include "virtio/block_layout.h"
#include "virtio/device_queue.h"
#include "virtio/features.h"
#include <stdbool.h>
#include <stdint.h>

/* Features that the device supports. RO is offered for a device that can't be written. */
#define DEVICE_BLOCK_FEATURES                                                               \
    (VIRTIO_F_VERSION_1 | VIRTIO_F_EVENT_IDX | VIRTIO_F_INDIRECT_DESC | VIRTIO_F_IN_ORDER | \
     VIRTIO_F_ACCESS_PLATFORM | VIRTIO_BLK_F_SEG_MAX | VIRTIO_BLK_F_BLK_SIZE |              \
     VIRTIO_BLK_F_FLUSH | VIRTIO_BLK_F_RO)

/* Checks the features that a driver has accepted: VERSION_1, and only `offered` ones. Returns NULL,
 * or a static text that says why the device clears FEATURES_OK (3.1.1, 2.2.2). */
const char *device_block_check_features(uint64_t offered, uint64_t accepted);

struct device_block_setup {
    struct device_queue_setup queue; /* its features are not used */
    uint64_t offered;                /* features; with RO the device can't be written */
    uint64_t accepted;               /* device_block_check_features() returned NULL */
    uint64_t sectors;                /* capacity, in units of 512 bytes */
    char id[VIRTIO_BLOCK_ID_BYTES];  /* for GET_ID; a shorter text is followed by zeros */
};

enum device_block_kind {
    DEVICE_BLOCK_READ,
    DEVICE_BLOCK_WRITE,
    DEVICE_BLOCK_FLUSH,
    DEVICE_BLOCK_ANSWERED, /* there is nothing to do but to finish it */
};

struct device_block_request {
    enum device_block_kind kind;
    uint8_t status;            /* for the driver. ANSWERED: an error if the request was bad. Others:
                                  VIRTIO_BLOCK_STATUS_OK unless the caller changes it */
    uint32_t bytes;            /* of data. READ, WRITE: a multiple of 512, may be 0 */
    uint64_t sector;           /* READ, WRITE: the first; all are below the capacity */
    struct device_chain chain; /* private to device/ */
};

struct device_block_statistics {
    uint64_t reads; /* requests taken */
    uint64_t writes;
    uint64_t flushes;
    uint64_t refused; /* answered with an error: bad ones, and types that are not supported */
    uint64_t dropped; /* without a place for the status: not executed */
};

struct device_block {
    struct device_queue queue;
    struct device_block_statistics statistics; /* since device_block_start() */

    /* Private to device/. */
    uint64_t accepted;
    uint64_t sectors;
    bool is_read_only;
    char id[VIRTIO_BLOCK_ID_BYTES];
};

/*
 * Starts to serve a driver that has set DRIVER_OK. `memory` must outlive the device. `resumed`: an
 * earlier life has served the same driver. Requests that it has finished and published are not
 * served again; all others are. The caller interrupts the driver once, because the earlier life may
 * have ended before it did. Returns NULL, or a static text that says why the queue can't be used:
 * then it is broken.
 */
const char *device_block_start(struct device_block *block, const struct device_memory *memory,
                               const struct device_block_setup *setup, bool resumed);

/* Returns true if the driver flushes what it writes. If not, a write is finished only when its
 * sectors are on stable storage (5.2.6.2). */
bool device_block_is_write_back(const struct device_block *block);

/* Takes the driver's next request, which stays as it is until it is finished. Returns false if
 * there is none. */
bool device_block_take(struct device_block *block, struct device_block_request *request);

/* Copy data of a WRITE from the driver's memory, and data of a READ to it. [offset, offset + bytes)
 * is inside of the request's data. */
void device_block_get(const struct device_block_request *request, uint32_t offset, uint8_t *to,
                      uint32_t bytes);
void device_block_put(const struct device_block_request *request, uint32_t offset,
                      const uint8_t *from, uint32_t bytes);

/* Finishes a request with its status: the one that was taken first of those in flight. A READ with
 * the status OK was put whole. */
void device_block_finish(struct device_block *block, const struct device_block_request *request);

#endif
