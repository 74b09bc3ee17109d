/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Split virtqueues (VIRTIO 1.3, 2.7), for each chain. A chain's id is its first descriptor. The
 * free descriptors are a list through slots[].next; with IN_ORDER the list is a circle in ring
 * order (2.7.5) that never changes, and free_first walks it.
 */
#ifndef VIRTIO_VIRTQUEUE_SPLIT_H
#define VIRTIO_VIRTQUEUE_SPLIT_H

#include "queue_private.h"

static inline void split_write(struct virtqueue *queue, uint16_t at,
                               const struct virtqueue_segment *segment, unsigned flags,
                               uint16_t next)
{
    struct virtqueue_descriptor *descriptor = &queue->descriptors[at];

    virtio_shared_store64(&descriptor->address, segment->address);
    virtio_shared_store64(&descriptor->rest, split_rest(segment->bytes, flags, next));
}

/* Writes the first descriptor of a chain; 2.7.13.1: the entry is the device's only once the index
 * passes it, in split_publish(). */
static inline void split_begin(struct virtqueue *queue, uint16_t id,
                               const struct virtqueue_segment *segment, unsigned flags,
                               uint16_t next)
{
    virtio_shared_store16(&queue->available->ring[queue->added & queue->mask], id);
    split_write(queue, id, segment, flags, next);
}

/* What the device finished next, not yet checked. False: nothing, or the queue broke. */
static inline bool split_used(struct virtqueue *queue, uint32_t *id, uint32_t *bytes)
{
    const struct virtqueue_used_element *element;

    if (queue->used_seen == queue->taken && !split_look(queue)) {
        return false;
    }
    element = &queue->used->ring[queue->taken & queue->mask];
    *id = virtio_shared_load32(&element->id);
    *bytes = virtio_shared_load32(&element->bytes);
    return true;
}

#endif
