/* SPDX-License-Identifier: BSD-2-Clause */
/* The invalid writes of a malicious device to a ring, for each format. Used elements with any id
 * and length are not among them: ring_push() writes those. */
#include "hostile.h"

static void lie_split(struct ring *ring, unsigned which, uint32_t value)
{
    uint64_t last = ring_place(ring, RING_USED_ELEMENT, ring->used - 1);
    uint64_t index = ring_place(ring, RING_USED_INDEX, 0);
    uint16_t jump = (uint16_t)(ring->used + value);

    switch (which % 4) {
    case 0: /* the index jumps */
        ring->used += value;
        memory_store(index, &jump, sizeof(jump));
        break;
    case 1: /* it jumps, and back again later */
        memory_store(index, &jump, sizeof(jump));
        break;
    case 2: /* what is published already becomes something else: its id, ... */
        memory_store(last, &value, sizeof(value));
        break;
    default: /* ... its length */
        memory_store(last + RING_USED_ELEMENT_LENGTH, &value, sizeof(value));
    }
}

static void lie_packed(struct ring *ring, unsigned which, uint32_t value)
{
    uint64_t place = ring_place(ring, RING_DESCRIPTOR, ring->used);
    bool wrap = ring_wrap(ring, ring->used);
    uint8_t descriptor[RING_DESCRIPTOR_BYTES] = {0};
    uint16_t flags = (uint16_t)value;

    switch (which % 4) {
    case 0: /* it goes on somewhere else */
        ring->used += value % ring->size;
        break;
    case 1: /* a lap too few or too many */
        ring->used += wrap ? ring->size : -(uint64_t)ring->size;
        break;
    case 2: /* what it never took is used, without another word */
        flags |= ring_used_flags(ring->used, ring->size);
        memory_store(place + RING_PACKED_DESCRIPTOR_FLAGS, &flags, sizeof(flags));
        break;
    default: /* the descriptor, with other flags, at any place */
        (void)memory_load(place, descriptor, sizeof(descriptor));
        descriptor[RING_PACKED_DESCRIPTOR_FLAGS] = (uint8_t)flags;
        descriptor[RING_PACKED_DESCRIPTOR_FLAGS + 1] = (uint8_t)(flags >> 8);
        memory_store(ring_place(ring, RING_DESCRIPTOR, value >> 16), descriptor,
                     sizeof(descriptor));
    }
}

void ring_lie(struct queue *queue, unsigned which, uint32_t value)
{
    if ((queue->ring.features & VIRTIO_F_RING_PACKED) != 0) {
        lie_packed(&queue->ring, which, value);
    } else {
        lie_split(&queue->ring, which, value);
    }
}

uint32_t ring_area_bytes(const struct ring *ring, unsigned area)
{
    const uint32_t split[] = {16u * ring->size, 6u + 2u * ring->size, 6u + 8u * ring->size};

    if (area != 0 && (ring->features & VIRTIO_F_RING_PACKED) != 0) {
        return 4;
    }
    return split[area];
}
