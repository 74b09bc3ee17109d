/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Packed virtqueues (VIRTIO 1.3, 2.8), for each chain. Places in the ring are free-running numbers
 * of descriptors: the low bits are the offset, and the bit above them, which changes with each lap,
 * is the inverse of the wrap counter (2.8.1). A chain takes one buffer id, however long it is: the
 * free ones are a list through slots[].next, with IN_ORDER a circle that never changes.
 */
#ifndef VIRTIO_VIRTQUEUE_PACKED_H
#define VIRTIO_VIRTQUEUE_PACKED_H

#include "queue_private.h"

/* 2.8.1: what marks a descriptor as available in this lap. */
static inline unsigned packed_available(const struct virtqueue *queue, uint16_t place)
{
    return (place & queue->size) != 0 ? DESCRIPTOR_USED : DESCRIPTOR_AVAILABLE;
}

/* Whether a descriptor is marked as used in this lap: both flags the same as the wrap counter. What
 * the driver writes has them different, what is left of the lap before has them the other way. */
static inline bool packed_is_used(const struct virtqueue *queue, uint16_t place, uint64_t rest)
{
    unsigned flags = (unsigned)(rest >> 48) & (DESCRIPTOR_AVAILABLE | DESCRIPTOR_USED);

    return flags == ((place & queue->size) != 0 ? 0 : DESCRIPTOR_AVAILABLE | DESCRIPTOR_USED);
}

/*
 * Writes a chain's next descriptor. The first of all that are not yet published keeps its flags
 * back: the device looks at nothing behind it (2.8.2), so that one store in packed_publish() makes
 * everything available, with one barrier for all chains (2.8.21.1).
 */
static inline void packed_write(struct virtqueue *queue, uint16_t id,
                                const struct virtqueue_segment *segment, unsigned flags)
{
    uint16_t place = queue->ring_added;
    struct virtqueue_descriptor *descriptor = &queue->descriptors[place & queue->mask];
    uint64_t rest = packed_rest(segment->bytes, id, flags | packed_available(queue, place));

    virtio_shared_store64(&descriptor->address, segment->address);
    if (place == queue->ring_published) {
        queue->held_back = rest;
    } else {
        virtio_shared_store64(&descriptor->rest, rest);
    }
    queue->ring_added = (uint16_t)(place + 1u);
}

/* What the device finished next, not yet checked. False: nothing, or the queue broke. */
static inline bool packed_used(struct virtqueue *queue, uint32_t *id, uint32_t *bytes)
{
    uint16_t place = queue->ring_taken;
    uint64_t rest = virtio_shared_load64(&queue->descriptors[place & queue->mask].rest);

    if (!packed_is_used(queue, place, rest)) {
        return false;
    }
    if (queue->taken == queue->published) {
        virtqueue_break(queue, "used descriptor ahead of what was made available");
        return false;
    }
    /* 2.8.22: what the device wrote into the buffer, after the flags that announce it. */
    virtio_barrier_observe(queue->order_platform);
    *id = (uint16_t)(rest >> 32);
    *bytes = (uint32_t)rest;
    return true;
}

#endif
