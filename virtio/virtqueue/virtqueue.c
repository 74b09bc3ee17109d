/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Virtqueues of both formats (VIRTIO 1.3, 2.6): publishing chains, and used buffer notification
 * suppression. add.c and take.c move the chains.
 */
#include "packed.h"

bool virtqueue_publish(struct virtqueue *queue)
{
    if (queue->added == queue->published || queue->broken != NULL) {
        return false;
    }
    return queue->packed ? packed_publish(queue) : split_publish(queue);
}

bool virtqueue_pending(struct virtqueue *queue)
{
    if (queue->broken != NULL) {
        return false;
    }
    if (queue->packed) {
        return queue->batch != 0 || packed_next_is_used(queue);
    }
    return queue->used_seen != queue->taken || split_read_used_index(queue) ||
           queue->broken != NULL;
}

void virtqueue_suppress(struct virtqueue *queue)
{
    if (!queue->interrupts_on) {
        return;
    }
    if (queue->packed) {
        packed_suppress(queue);
    } else {
        split_suppress(queue);
    }
    queue->interrupts_on = false;
}

bool virtqueue_enable(struct virtqueue *queue, uint16_t delay)
{
    queue->interrupts_on = true;
    if (queue->packed ? packed_enable(queue, delay) : split_enable(queue, delay)) {
        return true;
    }
    /* The device may have passed the event before it was set, so no interrupt may come for it. */
    virtqueue_suppress(queue);
    return false;
}

bool virtqueue_armed(const struct virtqueue *queue)
{
    return queue->interrupts_on && (queue->packed ? packed_armed(queue) : split_armed(queue));
}
