/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The driver of a block device with one queue (VIRTIO 1.3, 5.2). Its owner submits requests, and
 * gets each back when the device has finished it, in any order. A request belongs to the driver
 * from virtio_block_submit() until virtio_block_finished() returns it.
 *
 * Work is done in two places. virtio_block_interrupt(), in the interrupt handler, acknowledges the
 * interrupt and signals. A thread, the bottom half, then calls virtio_block_finished() until it
 * returns NULL, and virtio_block_rearm(), and repeats both if that returns false.
 *
 * Writes. A device with `is_write_back` may have a write that it has finished in a cache. What was
 * finished before a flush was submitted is on stable storage once that flush is finished (5.2.6.2).
 * The device may execute requests that are with it at one time in any order.
 *
 * The device is not trusted. If it breaks a rule, the driver stops, virtio_block_broken() has the
 * reason, and the owner calls virtio_block_stop(), which returns all requests.
 *
 * Thread context and one caller at a time, unless stated otherwise.
 */
#ifndef VIRTIO_BLOCK_H
#define VIRTIO_BLOCK_H

#include "virtio/block_layout.h"
#include "virtio/platform.h"
#include "virtio/transport.h"
#include <stdbool.h>
#include <stdint.h>

#define VIRTIO_BLOCK_SEGMENTS_MAX 8u /* of a request, as the owner describes it */
#define VIRTIO_BLOCK_REQUESTS_MAX 256u

enum virtio_block_kind { VIRTIO_BLOCK_READ, VIRTIO_BLOCK_WRITE, VIRTIO_BLOCK_FLUSH };

enum virtio_block_result {
    VIRTIO_BLOCK_DONE,
    VIRTIO_BLOCK_FAILED, /* the device reports an error: the data of a read is undefined */
    VIRTIO_BLOCK_LOST,   /* the driver was stopped: the device may have executed it, or a part */
};

struct virtio_block_segment {
    uint8_t *memory; /* shared with the device: virtio_platform_dma_address(); with a pool
                        (virtio/pool.h) any memory, because data is copied */
    uint32_t bytes;  /* > 0 */
};

struct virtio_block_request {
    struct virtio_block_request *next; /* the driver's, while it has the request */
    void *owner;                       /* for the owner's use */
    enum virtio_block_kind kind;
    enum virtio_block_result result;                                /* when it is finished */
    uint64_t sector;                                                /* the first, of 512 bytes */
    unsigned segment_count;                                         /* 0 for VIRTIO_BLOCK_FLUSH */
    struct virtio_block_segment segment[VIRTIO_BLOCK_SEGMENTS_MAX]; /* whole sectors in all */
    uint16_t slot;                                                  /* private to block/ */
};

struct virtio_block_parameters {
    uint16_t requests;     /* with the device at a time, up to VIRTIO_BLOCK_REQUESTS_MAX; 0: 64 */
    uint64_t features_off; /* that are not accepted */
};

struct virtio_block_operations {
    /* Wakes the bottom half. Any context. */
    void (*signal)(void *context);
};

/* As the device said when the driver was created. */
struct virtio_block_geometry {
    uint64_t sectors;      /* capacity, of 512 bytes */
    uint32_t block_bytes;  /* the device is best accessed in such blocks, which are aligned */
    uint32_t segments_max; /* pieces of memory in a request, with none larger than: */
    uint32_t segment_bytes_max;
    bool is_read_only;
    bool is_write_back; /* flushes are needed, and possible */
};

struct virtio_block_statistics {
    uint64_t submitted;
    uint64_t finished; /* returned to the owner, with any result */
    uint64_t failed;   /* of these, with VIRTIO_BLOCK_FAILED */
    uint64_t interrupts;
    uint64_t notifications;
};

struct virtio_block;

/* Creates the driver and starts the device (3.1.1, 5.2.5). `operations` must outlive it. Returns
 * NULL if that fails, with a static text in *reason. */
struct virtio_block *virtio_block_create(struct virtio_transport *transport,
                                         const struct virtio_block_parameters *parameters,
                                         const struct virtio_block_operations *operations,
                                         void *context, const char **reason);

const struct virtio_block_geometry *virtio_block_geometry(const struct virtio_block *block);
uint64_t virtio_block_features(const struct virtio_block *block);
const struct virtio_block_statistics *virtio_block_statistics(const struct virtio_block *block);

enum virtio_block_answer {
    VIRTIO_BLOCK_ACCEPTED,
    VIRTIO_BLOCK_FULL,    /* until a request is finished */
    VIRTIO_BLOCK_INVALID, /* never accepted: an empty or too large segment, too many pieces, no
                             whole sectors, sectors beyond the capacity, a write to a read-only
                             device, a flush of a device that is not write-back */
    VIRTIO_BLOCK_STOPPED, /* broken, or stopped */
};

/* Gives a request to the driver. The device sees it after virtio_block_kick() at the latest. */
enum virtio_block_answer virtio_block_submit(struct virtio_block *block,
                                             struct virtio_block_request *request);
/* Notifies the device of submitted requests. */
void virtio_block_kick(struct virtio_block *block);
/* Returns a request that is finished, or NULL if there is none. */
struct virtio_block_request *virtio_block_finished(struct virtio_block *block);
/* Returns the number of requests that were submitted and not returned. */
unsigned virtio_block_in_flight(const struct virtio_block *block);

/* The device's interrupt: of the line, or of any of its vectors (vector 0: configuration and, if it
 * is the only one, queue; vector 1: queue). Returns true if the caller has to mask the interrupt
 * until virtio_block_rearm() was called, because there are too many. Any context. */
bool virtio_block_interrupt(struct virtio_block *block);
/* Asks the device to interrupt when it finishes a request. Returns false if there is one already,
 * or if the driver has stopped and the owner has not seen that. */
bool virtio_block_rearm(struct virtio_block *block);
/* Looks for a failure that causes no interrupt. Call it every second or so. */
void virtio_block_watch(struct virtio_block *block);

/* Returns why the driver has stopped, a static text, or NULL if it has not. */
const char *virtio_block_broken(const struct virtio_block *block);
/* Resets the device. Afterwards virtio_block_finished() returns all requests that were with it.
 * Returns false if the device does not confirm the reset: it may still access the requests' memory
 * (2.4.1). The caller tries again later. The interrupt is disconnected. */
bool virtio_block_stop(struct virtio_block *block);
/* Returns true if virtio_block_stop() has returned true. */
bool virtio_block_is_stopped(const struct virtio_block *block);
/* Frees a driver that is stopped, and has returned all requests. */
void virtio_block_free(struct virtio_block *block);

#endif
