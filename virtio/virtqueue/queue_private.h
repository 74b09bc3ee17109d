/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Inside virtqueue/. slots[] is the driver's own memory and the only truth about its chains: the
 * ring's descriptors are written, and of what the device writes nothing is believed. A slot's token
 * is set exactly while the chain of that id is with the device, so an id the device returns can be
 * checked with one look.
 *
 * add.c and take.c move chains, of both formats; split.c and packed.c have what is done once for
 * many. Which format it is, is asked with a branch: always the same way, so it costs next to
 * nothing, and a call through a pointer would cost more.
 */
#ifndef VIRTIO_VIRTQUEUE_PRIVATE_H
#define VIRTIO_VIRTQUEUE_PRIVATE_H

#include "layout.h"
#include "virtio/barrier.h"
#include "virtio/virtqueue.h"

/* slot.shape of an indirect chain, with its table's number; of a direct one its descriptors less 1,
 * which is < VIRTQUEUE_SIZE_MAX. */
#define SHAPE_INDIRECT 0x8000u

/* Returns 0: nothing can be taken. */
static inline unsigned virtqueue_break(struct virtqueue *queue, const char *reason)
{
    if (queue->broken == NULL) {
        queue->broken = reason;
    }
    return 0;
}

/* In the ring, of the chain that begins there. */
static inline uint16_t slot_descriptors(const struct virtqueue_slot *slot)
{
    return (slot->shape & SHAPE_INDIRECT) != 0 ? 1 : (uint16_t)(slot->shape + 1u);
}

/* Reads what the device has finished, at most `limit`: ids into `address`, and lengths, not yet
 * checked; how many. Packed: right as
 * long as all of them turn out to be of one descriptor. */
unsigned split_used(struct virtqueue *queue, struct virtqueue_item *items, unsigned limit);
unsigned packed_used(struct virtqueue *queue, struct virtqueue_item *items, unsigned limit);

bool split_publish(struct virtqueue *queue);
bool split_look(struct virtqueue *queue);
void split_suppress(struct virtqueue *queue);
bool split_enable(struct virtqueue *queue, uint16_t delay);
bool split_armed(const struct virtqueue *queue);

bool packed_publish(struct virtqueue *queue);
void packed_suppress(struct virtqueue *queue);
bool packed_enable(struct virtqueue *queue, uint16_t delay);
bool packed_armed(const struct virtqueue *queue);

#endif
