/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bounce buffers: slots of equal size in a pool (virtio/pool.h), in which the driver copies the
 * data of frames and requests, because the device can access nothing else. Data that fill several
 * slots are a chain of slots. The records of the slots are in private memory.
 *
 * One caller at a time for all functions with the same slots, except for virtio_bounce_write() and
 * virtio_bounce_read(), which need only the chain. Any context, except create and destroy (thread
 * context).
 */
#ifndef VIRTIO_BOUNCE_H
#define VIRTIO_BOUNCE_H

#include "virtio/platform.h"
#include "virtio/pool.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct virtio_bounce_slot {
    struct virtio_bounce_slot *next; /* of the chain, or of the free slots */
    void *owner;                     /* of the chain, in its first slot; for the caller's use */
    uint8_t *memory;                 /* in the pool */
    virtio_address address;          /* of `memory`, as the device sees it */
};

/* All fields are 0 before virtio_bounce_create(). The caller reads the counts. */
struct virtio_bounce {
    struct virtio_pool *pool;
    struct virtio_bounce_slot *slots; /* `count`, in private memory */
    struct virtio_bounce_slot *free;
    uint8_t *memory; /* of all slots, in the pool */
    uint32_t bytes;  /* of a slot */
    uint16_t count;
    uint16_t free_count;
};

/* A place in a chain: the slot, and the offset in it, up to the size of a slot. */
struct virtio_bounce_place {
    const struct virtio_bounce_slot *slot;
    uint32_t offset;
};

/* Allocates `count` slots of `bytes` each, both > 0. Returns false if memory is exhausted; then,
 * too, virtio_bounce_destroy() frees what was allocated. */
bool virtio_bounce_create(struct virtio_bounce *bounce, struct virtio_pool *pool, uint16_t count,
                          uint32_t bytes);
/* Frees the slots, which the device must not access any more (VIRTIO 1.3, 2.4.1). */
void virtio_bounce_destroy(struct virtio_bounce *bounce);

/* Takes a chain of `count` > 0 slots. Returns its first slot, or NULL if there are not enough. */
struct virtio_bounce_slot *virtio_bounce_take(struct virtio_bounce *bounce, unsigned count);
/* Frees the slots of a chain. Returns its owner. */
void *virtio_bounce_release(struct virtio_bounce *bounce, struct virtio_bounce_slot *chain);

/* Copy `bytes` bytes to or from a chain, from *place on, which moves behind them. The chain is long
 * enough. */
void virtio_bounce_write(const struct virtio_bounce *bounce, struct virtio_bounce_place *place,
                         const uint8_t *from, uint32_t bytes);
void virtio_bounce_read(const struct virtio_bounce *bounce, struct virtio_bounce_place *place,
                        uint8_t *to, uint32_t bytes);

#endif
