/* SPDX-License-Identifier: BSD-2-Clause */
/* Packed virtqueues (VIRTIO 1.3, 2.8): operations that are done once for many chains. */
#include "packed.h"

bool packed_publish(struct virtqueue *queue)
{
    uint16_t before = queue->ring_published;
    uint16_t span = (uint16_t)(2u * queue->size - 1u);
    uint32_t event;
    uint16_t where;

    /* 2.8.21.1.1: everything else is visible before the flags of the first descriptor. */
    virtio_barrier(VIRTIO_BARRIER_PUBLISH, queue->order_platform);
    descriptor_announce(&queue->descriptors[before & queue->mask], queue->held_back);
    queue->ring_published = queue->ring_added;
    queue->published = queue->added;
    /* 2.8.21.3.1: the flags are visible before the device's event suppression structure is read.
     * The device writes that first and then reads descriptors, so one of the two sees what the
     * other wrote. */
    virtio_barrier(VIRTIO_BARRIER_FULL, queue->order_platform);
    event = virtio_shared_load32(queue->device_event);
    if (!queue->event_index || (event & EVENT_FLAGS) != EVENT_DESC) {
        return (event & EVENT_FLAGS) != EVENT_DISABLE;
    }
    /*
     * 2.8.10: notify unless the descriptor of the device's event (offset and wrap counter) has not
     * been published yet, which means that its place is free. A device that has processed a
     * descriptor and waits should not set its event to that descriptor again. QEMU 10.0 does so
     * after its network was full: it processes all descriptors, sets the same event as before, and
     * waits. Places repeat after two laps.
     */
    where = (uint16_t)((event & queue->mask) | ((event & EVENT_WRAP) != 0 ? 0 : queue->size));
    return (uint16_t)((where - queue->ring_added) & span) >= queue->free_count;
}

unsigned packed_used(struct virtqueue *queue, struct virtqueue_item *items, unsigned limit)
{
    unsigned with_device = (uint16_t)(queue->published - queue->taken);
    unsigned count;

    if (with_device == 0 && packed_next_is_used(queue)) {
        return virtqueue_break(queue, "used descriptor ahead of what was made available");
    }
    limit = limit < with_device ? limit : with_device;
    for (count = 0; count < limit; count++) {
        uint16_t place = (uint16_t)(queue->ring_taken + count);
        const struct virtqueue_descriptor *descriptor = &queue->descriptors[place & queue->mask];

        if (!packed_is_used(queue, place, descriptor_look(descriptor, &items[count]))) {
            break;
        }
    }
    /* 2.8.22: what the device wrote into descriptors and buffers is read after the flags that
     * announce it. */
    virtio_barrier(VIRTIO_BARRIER_OBSERVE, queue->order_platform);
    for (unsigned i = 0; i < count; i++) {
        descriptor_read(&queue->descriptors[(queue->ring_taken + i) & queue->mask], &items[i]);
    }
    return count;
}

void packed_suppress(struct virtqueue *queue)
{
    virtio_shared_store32(queue->driver_event, EVENT_DISABLE);
}

/*
 * The device counts descriptors, so with chains of several descriptors it may interrupt earlier
 * than requested. The place of a used descriptor depends on the length of the chains before it, and
 * with IN_ORDER on the device's batches. Only if all chains have one descriptor and there are no
 * batches does the device write the descriptor at the event (`exact`). Otherwise this function
 * reads the next used descriptor instead, which the device writes in any case. A single finished
 * chain then makes it return false.
 */
bool packed_enable(struct virtqueue *queue, uint16_t delay)
{
    bool exact = !queue->in_order && (uint16_t)(queue->ring_added - queue->ring_taken) ==
                                         (uint16_t)(queue->added - queue->taken);
    uint16_t after = (uint16_t)(queue->ring_taken + delay);
    uint16_t place = exact ? after : queue->ring_taken;
    uint32_t event = EVENT_ENABLE;
    unsigned flags;

    if (queue->event_index) {
        queue->interrupt_after = after;
        event = EVENT_DESC | (after & queue->mask) | ((after & queue->size) != 0 ? 0 : EVENT_WRAP);
    }
    /* One store for offset and flags: the device never sees one without the other. */
    virtio_shared_store32(queue->driver_event, event);
    /* 2.8.22: the event suppression structure is visible before the descriptor is read once more.
     * The device writes the descriptor first and then reads the structure, so either it interrupts
     * or this function sees the used descriptor. */
    virtio_barrier(VIRTIO_BARRIER_FULL, queue->order_platform);
    flags = descriptor_flags(&queue->descriptors[place & queue->mask]);
    return queue->batch == 0 && !packed_is_used(queue, place, flags);
}

bool packed_armed(const struct virtqueue *queue)
{
    if (!queue->event_index) {
        return queue->published != queue->taken;
    }
    return (uint16_t)(queue->interrupt_after - queue->ring_taken) <
           (uint16_t)(queue->ring_published - queue->ring_taken);
}
