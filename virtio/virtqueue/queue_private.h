/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Private to virtqueue/. slots[] is the driver's own record of its chains, which no device can
 * write: descriptors in shared memory are written and never read back as truth. A slot's token is
 * not NULL exactly while the chain of that id is with the device, so one comparison validates an id
 * that the device returns.
 *
 * add.c and take.c move chains of both formats; split.c and packed.c contain the operations that
 * are done once for many chains. The format is selected by branches: a queue always takes the same
 * one, so that they are predicted and cost less than a call through a pointer.
 */
#ifndef VIRTIO_VIRTQUEUE_PRIVATE_H
#define VIRTIO_VIRTQUEUE_PRIVATE_H

#include "virtio/barrier.h"
#include "virtio/virtqueue.h"
#include "virtio/virtqueue_layout.h"

/* slot.shape of an indirect chain: this bit and the number of its table. slot.shape of a direct
 * chain: its number of descriptors minus 1, which is < VIRTQUEUE_SIZE_MAX. */
#define SHAPE_INDIRECT 0x8000u

/* Puts the queue into the broken state, unless it is in that state already. `reason`: static text
 * about the device. Returns 0, the number of chains that a caller can then take. */
static inline unsigned virtqueue_break(struct virtqueue *queue, const char *reason)
{
    if (queue->broken == NULL) {
        queue->broken = reason;
    }
    return 0;
}

/* Returns the number of ring descriptors that the slot's chain occupies. */
static inline uint16_t slot_descriptors(const struct virtqueue_slot *slot)
{
    return (slot->shape & SHAPE_INDIRECT) != 0 ? 1 : (uint16_t)(slot->shape + 1u);
}

/*
 * Read up to `limit` used entries: ids into items[].address and lengths into items[].bytes, neither
 * of them checked yet. Return the number of entries. The packed function assumes that every chain
 * has one descriptor: entries behind a longer chain are to be read again.
 */
unsigned split_used(struct virtqueue *queue, struct virtqueue_item *items, unsigned limit);
unsigned packed_used(struct virtqueue *queue, struct virtqueue_item *items, unsigned limit);

/* Reads the used index, and breaks the queue if the device can't have finished so many chains.
 * Returns true if there are finished chains to take. */
bool split_read_used_index(struct virtqueue *queue);

/* The functions of virtqueue.h, for one format. */
bool split_publish(struct virtqueue *queue);
void split_suppress(struct virtqueue *queue);
bool split_enable(struct virtqueue *queue, uint16_t delay);
bool split_armed(const struct virtqueue *queue);

bool packed_publish(struct virtqueue *queue);
void packed_suppress(struct virtqueue *queue);
bool packed_enable(struct virtqueue *queue, uint16_t delay);
bool packed_armed(const struct virtqueue *queue);

#endif
