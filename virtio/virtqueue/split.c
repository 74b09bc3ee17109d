/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Split virtqueues (VIRTIO 1.3, 2.7). A chain's id is its first descriptor. The free descriptors
 * are a list through slots[].next; with IN_ORDER the list is a circle in ring order (2.7.5) that
 * never changes, and free_first walks it.
 */
#include "queue_private.h"

static inline uint16_t *used_event(const struct virtqueue *queue)
{
    return &queue->available->ring[queue->size];
}

static inline const uint16_t *available_event(const struct virtqueue *queue)
{
    return (const uint16_t *)&queue->used->ring[queue->size];
}

bool split_publish(struct virtqueue *queue)
{
    uint16_t before = queue->published;

    /* 2.7.13.3.1: descriptors and available entries are visible before the index. */
    virtio_barrier(VIRTIO_BARRIER_PUBLISH, queue->order_platform);
    virtio_shared_store16(&queue->available->index, queue->added);
    queue->published = queue->added;
    /* 2.7.13.4.1: the index is visible before avail_event, or the flag, is read. The device writes
     * those first and then reads the index, so one of the two sees what the other wrote. */
    virtio_barrier(VIRTIO_BARRIER_FULL, queue->order_platform);
    if (!queue->event_index) {
        return (virtio_shared_load16(&queue->used->flags) & USED_NO_NOTIFY) == 0;
    }
    /* 2.7.10: notify if the entry that avail_event names is among the new ones. The arithmetic is
     * correct where the index wraps, and for any number of new entries. */
    return (uint16_t)(queue->added - virtio_shared_load16(available_event(queue)) - 1u) <
           (uint16_t)(queue->added - before);
}

bool split_read_used_index(struct virtqueue *queue)
{
    uint16_t index = virtio_shared_load16(&queue->used->index);

    if ((uint16_t)(index - queue->taken) > (uint16_t)(queue->published - queue->taken)) {
        return virtqueue_break(queue, "used index ahead of what was made available") != 0;
    }
    /* 2.7.14: the used elements are read after the index that announces them. */
    virtio_barrier(VIRTIO_BARRIER_OBSERVE, queue->order_platform);
    queue->used_seen = index;
    return index != queue->taken;
}

unsigned split_used(struct virtqueue *queue, struct virtqueue_item *items, unsigned limit)
{
    unsigned finished;

    if (queue->used_seen == queue->taken && !split_read_used_index(queue)) {
        return 0;
    }
    finished = (uint16_t)(queue->used_seen - queue->taken);
    limit = limit < finished ? limit : finished;
    for (unsigned i = 0; i < limit; i++) {
        const struct virtqueue_used_element *element =
            &queue->used->ring[(queue->taken + i) & queue->mask];

        items[i].address = virtio_shared_load32(&element->id);
        items[i].bytes = virtio_shared_load32(&element->bytes);
    }
    return limit;
}

/*
 * With EVENT_IDX the device interrupts when its used index passes the entry that used_event names
 * (2.7.7). Naming an entry that the index passed already suppresses interrupts: the index passes it
 * again only after 65,536 chains, and a superfluous interrupt does no harm. Without EVENT_IDX a
 * flag suppresses them.
 */
void split_suppress(struct virtqueue *queue)
{
    if (queue->event_index) {
        /* 2.7.7.1: the flag stays 0 with EVENT_IDX. */
        queue->interrupt_after = (uint16_t)(queue->taken - 1u);
        virtio_shared_store16(used_event(queue), queue->interrupt_after);
    } else {
        virtio_shared_store16(&queue->available->flags, AVAILABLE_NO_INTERRUPT);
    }
}

bool split_enable(struct virtqueue *queue, uint16_t delay)
{
    uint16_t index;

    if (queue->event_index) {
        queue->interrupt_after = (uint16_t)(queue->taken + delay);
        virtio_shared_store16(used_event(queue), queue->interrupt_after);
    } else {
        virtio_shared_store16(&queue->available->flags, 0);
    }
    /* 2.7.7: used_event, or the flag, is visible before the index is read once more. The device
     * writes the index first and then reads those, so either it interrupts or this function sees
     * what it finished. An implausible index counts as finished: virtqueue_take() then breaks the
     * queue. */
    virtio_barrier(VIRTIO_BARRIER_FULL, queue->order_platform);
    index = virtio_shared_load16(&queue->used->index);
    return (uint16_t)(index - queue->taken) <= delay;
}

bool split_armed(const struct virtqueue *queue)
{
    uint16_t with_device = (uint16_t)(queue->published - queue->taken);

    return queue->event_index ? (uint16_t)(queue->interrupt_after - queue->taken) < with_device
                              : with_device != 0;
}
