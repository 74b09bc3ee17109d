/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Split virtqueues: when the device shall interrupt (VIRTIO 1.3, 2.7.7).
 *
 * With EVENT_IDX the device interrupts when its used index passes the entry that used_event names.
 * An entry it passed long ago is as good as "never" (once in 65,536 chains it is passed again, and
 * a superfluous interrupt does no harm). Without, a flag says yes or no.
 */
#include "split_layout.h"
#include "virtio/barrier.h"
#include "virtio/virtqueue.h"

void virtqueue_suppress(struct virtqueue *queue)
{
    if (!queue->interrupts_on) {
        return;
    }
    if (queue->event_index) {
        /* 2.7.7.1: the flag stays 0 with EVENT_IDX. */
        queue->interrupt_after = (uint16_t)(queue->taken - 1u);
        virtio_shared_store16(queue->used_event, queue->interrupt_after);
    } else {
        virtio_shared_store16(&queue->available->flags, AVAILABLE_NO_INTERRUPT);
    }
    queue->interrupts_on = false;
}

bool virtqueue_enable(struct virtqueue *queue, uint16_t delay)
{
    uint16_t index;

    queue->interrupts_on = true;
    if (queue->event_index) {
        queue->interrupt_after = (uint16_t)(queue->taken + delay);
        virtio_shared_store16(queue->used_event, queue->interrupt_after);
    } else {
        virtio_shared_store16(&queue->available->flags, 0);
    }
    /* 2.7.7: the wish before the index is read once more. The device writes the index and then
     * reads the wish, so either it interrupts or this sees what it finished. An implausible index
     * counts as finished: virtqueue_take() deals with it. */
    virtio_barrier_full();
    index = virtio_shared_load16(&queue->used->index);
    if ((uint16_t)(index - queue->taken) <= delay) {
        return true;
    }
    /* The device may have passed the event before it was set: nothing is armed. */
    virtqueue_suppress(queue);
    return false;
}

bool virtqueue_armed(const struct virtqueue *queue)
{
    uint16_t with_device = (uint16_t)(queue->published - queue->taken);

    if (!queue->event_index) {
        return queue->interrupts_on && with_device != 0;
    }
    return (uint16_t)(queue->interrupt_after - queue->taken) < with_device;
}
