/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Packed virtqueues (VIRTIO 1.3, 2.8). A place in the ring is a free-running number of descriptors:
 * its low bits are the offset, and the bit above them, which changes with each lap, is the inverse
 * of the wrap counter (2.8.1). A chain has one buffer id, however long it is. Free ids are a list
 * through slots[].next; with IN_ORDER the list is a circle that never changes.
 */
#ifndef VIRTIO_VIRTQUEUE_PACKED_H
#define VIRTIO_VIRTQUEUE_PACKED_H

#include "descriptor.h"
#include "queue_private.h"

/* Returns the flag that marks a descriptor as available in this place's lap (2.8.1). */
static inline unsigned packed_available(const struct virtqueue *queue, uint16_t place)
{
    return (place & queue->size) != 0 ? DESCRIPTOR_USED : DESCRIPTOR_AVAILABLE;
}

/* Returns true if `flags` mark the descriptor as used in this place's lap: both flags equal the
 * wrap counter (2.8.1). In an available descriptor they differ, and in one that was used a lap ago
 * both are inverse. */
static inline bool packed_is_used(const struct virtqueue *queue, uint16_t place, unsigned flags)
{
    return (flags & (DESCRIPTOR_AVAILABLE | DESCRIPTOR_USED)) ==
           ((place & queue->size) != 0 ? 0 : DESCRIPTOR_AVAILABLE | DESCRIPTOR_USED);
}

/* Returns true if the device has used the next descriptor that the driver would take. */
static inline bool packed_next_is_used(const struct virtqueue *queue)
{
    uint16_t place = queue->ring_taken;

    return packed_is_used(queue, place, descriptor_flags(&queue->descriptors[place & queue->mask]));
}

#endif
