/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Many chains at a time through a virtqueue (virtio/virtqueue.h) whose chains are all of one
 * segment, for a driver that polls. One way of use for a queue's whole life: after
 * virtqueue_burst_prepare() it is filled and emptied by the functions here, beside
 * virtqueue_publish() and, at the end, virtqueue_detach(). The device is as little trusted as
 * there.
 *
 * A chain's id is its position in the ring. So a device that uses buffers in order, as nearly all
 * do, finds the same descriptors behind the same entries again and again, and what has not changed
 * is not written again: lines of the cache that nobody writes stay with both sides. One that does
 * not use them in order is served as well, but nothing is added past a chain that it still has.
 */
#ifndef VIRTIO_VIRTQUEUE_BURST_H
#define VIRTIO_VIRTQUEUE_BURST_H

#include "virtio/virtqueue.h"

/* After virtqueue_create(), before anything else. Writable: the device writes to the segments, else
 * it reads them. */
void virtqueue_burst_prepare(struct virtqueue *queue, bool writable);

/* Adds chains of one segment each, with a token each, as far as there is room; how many. Tokens are
 * not NULL and segments not empty. */
unsigned virtqueue_burst_add(struct virtqueue *queue, void *const *tokens,
                             const struct virtqueue_segment *segments, unsigned count);

/*
 * Takes up to `count` chains that the device is done with; how many. bytes[] gets what it wrote to
 * each; NULL if it only reads them. Fewer than there are: the queue broke. With IN_ORDER a device
 * may name only the last of several chains that it filled to the last byte (2.7.9); that is taken
 * for an error here, since no network device has a use for it.
 */
unsigned virtqueue_burst_take(struct virtqueue *queue, void **tokens, uint32_t *bytes,
                              unsigned count);

#endif
