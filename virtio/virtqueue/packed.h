/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Packed virtqueues (VIRTIO 1.3, 2.8). Places in the ring are free-running numbers
 * of descriptors: the low bits are the offset, and the bit above them, which changes with each lap,
 * is the inverse of the wrap counter (2.8.1). A chain takes one buffer id, however long it is: the
 * free ones are a list through slots[].next, with IN_ORDER a circle that never changes.
 */
#ifndef VIRTIO_VIRTQUEUE_PACKED_H
#define VIRTIO_VIRTQUEUE_PACKED_H

#include "descriptor.h"
#include "queue_private.h"

/* 2.8.1: what marks a descriptor as available in this lap. */
static inline unsigned packed_available(const struct virtqueue *queue, uint16_t place)
{
    return (place & queue->size) != 0 ? DESCRIPTOR_USED : DESCRIPTOR_AVAILABLE;
}

/* Whether a descriptor is marked as used in this lap: both flags the same as the wrap counter. What
 * the driver writes has them different, what is left of the lap before has them the other way. */
static inline bool packed_is_used(const struct virtqueue *queue, uint16_t place, unsigned flags)
{
    return (flags & (DESCRIPTOR_AVAILABLE | DESCRIPTOR_USED)) ==
           ((place & queue->size) != 0 ? 0 : DESCRIPTOR_AVAILABLE | DESCRIPTOR_USED);
}

static inline bool packed_next_is_used(const struct virtqueue *queue)
{
    uint16_t place = queue->ring_taken;

    return packed_is_used(queue, place, descriptor_flags(&queue->descriptors[place & queue->mask]));
}

#endif
