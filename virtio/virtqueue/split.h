/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Split virtqueues (VIRTIO 1.3, 2.7), for each chain. A chain's id is its first descriptor. The
 * free descriptors are a list through slots[].next; with IN_ORDER the list is a circle in ring
 * order (2.7.5) that never changes, and free_first walks it.
 */
#ifndef VIRTIO_VIRTQUEUE_SPLIT_H
#define VIRTIO_VIRTQUEUE_SPLIT_H

#include "queue_private.h"

static inline void split_put(struct virtqueue *queue, const struct virtqueue_segment *segments,
                             unsigned count, unsigned readable, unsigned extra_flags)
{
    uint16_t id = queue->free_first;
    unsigned i = 0;

    /* 2.7.13.1: the entry is the device's only once the index passes it, in split_publish(). */
    virtio_shared_store16(&queue->available->ring[queue->added & queue->mask], id);
    do {
        struct virtqueue_descriptor *descriptor = &queue->descriptors[id];
        unsigned flags = chain_flags(i, readable, count) | extra_flags;

        id = queue->slots[id].next;
        virtio_shared_store64(&descriptor->address, segments[i].address);
        virtio_shared_store64(&descriptor->rest, split_rest(segments[i].bytes, flags, id));
    } while (++i < count);
    queue->free_first = id;
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

/* Without IN_ORDER: the chain's descriptors are the first ones free. */
static inline void split_release(struct virtqueue *queue, uint16_t head, unsigned descriptors)
{
    struct virtqueue_slot *last = &queue->slots[head];

    while (--descriptors != 0) {
        last = &queue->slots[last->next];
    }
    last->next = queue->free_first;
    queue->free_first = head;
}

#endif
