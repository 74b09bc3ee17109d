/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The device's side of a split virtqueue (VIRTIO 1.3, 2.7), for a device in software that serves a
 * driver in another partition or process. The device takes chains that the driver has made
 * available, and finishes them in the same order, whether or not the driver has accepted IN_ORDER.
 * So the used index alone tells a later life of the device where it has to continue.
 *
 * The driver is not trusted. Each word that it writes is read once and checked before use. The
 * device accesses no memory but that of `memory`. A value that no correct driver writes puts the
 * queue into the broken state: `broken` has the reason, and no chain can be taken or finished any
 * more until the driver resets the device. The content of buffers may change at any time: a program
 * that checks it has to copy it before.
 *
 * The caller serialises all calls for one queue. No function waits, and none takes longer than a
 * chain of as many descriptors as the queue has. Any context.
 */
#ifndef VIRTIO_DEVICE_QUEUE_H
#define VIRTIO_DEVICE_QUEUE_H

#include "virtio/platform.h"
#include <stdbool.h>
#include <stdint.h>

#define DEVICE_QUEUE_SIZE_MAX 256u /* entries */

/* A part of the driver's memory that the device may access. */
struct device_memory_region {
    virtio_address start; /* driver's address */
    uint64_t bytes;       /* > 0; start + bytes does not wrap */
    uint8_t *here;        /* the same memory in this program */
};

/* All memory of the driver's that the device may access. Regions do not overlap. */
struct device_memory {
    const struct device_memory_region *regions;
    unsigned count;
};

/* Returns the memory at a driver's address, or NULL if it is not inside one region. bytes > 0. */
uint8_t *device_memory_at(const struct device_memory *memory, virtio_address address,
                          uint64_t bytes);

/* A queue as the driver has set it up (2.7, 4.2.2.2). */
struct device_queue_setup {
    virtio_address descriptors;
    virtio_address driver_area;
    virtio_address device_area;
    uint64_t features; /* accepted; EVENT_IDX and INDIRECT_DESC are evaluated */
    uint16_t size;     /* entries */
};

struct device_segment {
    uint8_t *memory;
    uint32_t bytes; /* > 0 */
};

/* A chain: segments to read, followed by segments to write. Segments without bytes are omitted. */
struct device_chain {
    uint32_t readable_bytes;
    uint32_t writable_bytes;
    uint16_t readable; /* segments */
    uint16_t writable;
    uint16_t descriptors; /* read for the chain, also those without bytes */
    struct device_segment segments[DEVICE_QUEUE_SIZE_MAX];
};

struct virtqueue_descriptor;
struct virtqueue_available;
struct virtqueue_used;

/* Private to device/, and visible so that a queue can be embedded. */
struct device_queue {
    const struct device_memory *memory;
    const struct virtqueue_descriptor *descriptors;
    struct virtqueue_available *available;
    struct virtqueue_used *used;
    const char *broken; /* reason, a static text; NULL: the queue is not broken */
    uint16_t size;
    bool event_index;
    bool indirect;
    uint16_t available_seen;             /* available index as last read and found plausible */
    uint16_t taken;                      /* chains taken: the next place in the available ring */
    uint16_t finished;                   /* chains finished: the used index to be published next */
    uint16_t published;                  /* the used index */
    uint16_t ids[DEVICE_QUEUE_SIZE_MAX]; /* of the chains that are taken and not finished */
};

/*
 * Starts to serve a queue. `memory` must outlive it. `resumed`: the device has served the queue in
 * an earlier life, and continues behind the chains that it finished then; otherwise the driver has
 * just enabled the queue. Returns NULL, or a static text that says why the driver's setup can't be
 * used: then the queue is broken.
 */
const char *device_queue_start(struct device_queue *queue, const struct device_memory *memory,
                               const struct device_queue_setup *setup, bool resumed);

/* Takes the next chain that the driver has made available. Returns false if there is none, or if
 * the queue is broken, also by this chain. */
bool device_queue_take(struct device_queue *queue, struct device_chain *chain);

/* Returns the number of chains that were taken and are not finished. */
static inline uint16_t device_queue_in_flight(const struct device_queue *queue)
{
    return (uint16_t)(queue->taken - queue->finished);
}

/* Gives the chain that was taken last back, as if it had not been taken. The queue has one. */
void device_queue_return(struct device_queue *queue);

/* Finishes the chain that was taken first of those in flight. `written`: bytes from the start of
 * its writable segments on, which the device has written. The driver sees it after
 * device_queue_publish(). The queue has a chain in flight. */
void device_queue_finish(struct device_queue *queue, uint32_t written);

/* Publishes the finished chains. Returns true if the driver wants to be interrupted for them
 * (2.7.7, 2.7.10). */
bool device_queue_publish(struct device_queue *queue);

/* Returns true if the driver wants, now, to be interrupted for the chains published since the used
 * index was `since`: for a caller that delays an interrupt. */
bool device_queue_wants_interrupt(const struct device_queue *queue, uint16_t since);

/* Asks the driver not to notify of further chains. That is a hint (2.7.10). */
void device_queue_suppress(struct device_queue *queue);

/* Asks the driver to notify of the next chain that it makes available. Returns false if there is
 * one already, for which it may not notify: the caller takes it, and tries again. */
bool device_queue_enable(struct device_queue *queue);

/* Returns the available index: it changes whenever the driver makes chains available. Any value if
 * the queue is broken. */
uint16_t device_queue_available(const struct device_queue *queue);
/* As device_queue_enable(), for a chain behind those that the available index `seen` counts: for a
 * device that needs more chains than there are. */
bool device_queue_enable_beyond(struct device_queue *queue, uint16_t seen);

#endif
