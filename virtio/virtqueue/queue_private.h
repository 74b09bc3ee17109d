/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Inside virtqueue/. virtqueue.c has what is common to both formats: the slots, the checks, the
 * order of chains. split.h and packed.h have what is done for each chain, inline; split.c and
 * packed.c what is done for each batch. Which format it is, is asked with a branch: always the same
 * way, so it costs next to nothing, and a call through a pointer would cost more.
 */
#ifndef VIRTIO_VIRTQUEUE_PRIVATE_H
#define VIRTIO_VIRTQUEUE_PRIVATE_H

#include "layout.h"
#include "virtio/barrier.h"
#include "virtio/virtqueue.h"

/* slot.shape of an indirect chain, with its table's number; of a direct one its descriptors less 1,
 * which is < VIRTQUEUE_SIZE_MAX. */
#define SHAPE_INDIRECT 0x8000u

static inline void virtqueue_break(struct virtqueue *queue, const char *reason)
{
    if (queue->broken == NULL) {
        queue->broken = reason;
    }
}

/* In the ring, of the chain that begins there. */
static inline uint16_t slot_descriptors(const struct virtqueue_slot *slot)
{
    return (slot->shape & SHAPE_INDIRECT) != 0 ? 1 : (uint16_t)(slot->shape + 1u);
}

/* Of segment `i` of a chain: readable ones come first (2.7.4.2, 2.8.17), the last has no next. */
static inline unsigned chain_flags(unsigned i, unsigned readable, unsigned count)
{
    return (i >= readable ? DESCRIPTOR_WRITE : 0) | (i + 1 < count ? DESCRIPTOR_NEXT : 0);
}

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
