/* SPDX-License-Identifier: BSD-2-Clause */
/* Accesses to descriptors on 32-bit processors: see descriptor.h. */
#ifndef VIRTIO_VIRTQUEUE_DESCRIPTOR_APART_H
#define VIRTIO_VIRTQUEUE_DESCRIPTOR_APART_H

/* The parts of a `rest` that split_rest() or packed_rest() has made: a 32-bit and two 16-bit words.
 */
#define DESCRIPTOR_FIRST(rest)  ((uint32_t)(rest))
#define DESCRIPTOR_SECOND(rest) ((uint16_t)((rest) >> 32))
#define DESCRIPTOR_THIRD(rest)  ((uint16_t)((rest) >> 48))

static inline void descriptor_store_address(struct virtqueue_descriptor *descriptor,
                                            uint64_t address)
{
    virtio_shared_store32(&descriptor->address_low, (uint32_t)address);
    virtio_shared_store32(&descriptor->address_high, (uint32_t)(address >> 32));
}

static inline void descriptor_write(struct virtqueue_descriptor *descriptor, uint64_t address,
                                    uint64_t rest)
{
    descriptor_store_address(descriptor, address);
    virtio_shared_store32(&descriptor->bytes, DESCRIPTOR_FIRST(rest));
    virtio_shared_store16(&descriptor->flags_or_id, DESCRIPTOR_SECOND(rest));
    virtio_shared_store16(&descriptor->next_or_flags, DESCRIPTOR_THIRD(rest));
}

static inline void descriptor_update32(uint32_t *shared, uint32_t value)
{
    if (virtio_shared_load32(shared) != value) {
        virtio_shared_store32(shared, value);
    }
}

static inline void descriptor_update16(uint16_t *shared, uint16_t value)
{
    if (virtio_shared_load16(shared) != value) {
        virtio_shared_store16(shared, value);
    }
}

static inline void descriptor_update(struct virtqueue_descriptor *descriptor, uint64_t address,
                                     uint64_t rest)
{
    descriptor_update32(&descriptor->address_low, (uint32_t)address);
    descriptor_update32(&descriptor->address_high, (uint32_t)(address >> 32));
    descriptor_update32(&descriptor->bytes, DESCRIPTOR_FIRST(rest));
    descriptor_update16(&descriptor->flags_or_id, DESCRIPTOR_SECOND(rest));
    descriptor_update16(&descriptor->next_or_flags, DESCRIPTOR_THIRD(rest));
}

static inline void descriptor_fill(struct virtqueue_descriptor *descriptor, uint64_t address,
                                   uint64_t rest)
{
    descriptor_store_address(descriptor, address);
    virtio_shared_store32(&descriptor->bytes, DESCRIPTOR_FIRST(rest));
    virtio_shared_store16(&descriptor->flags_or_id, DESCRIPTOR_SECOND(rest));
}

static inline void descriptor_announce(struct virtqueue_descriptor *descriptor, uint64_t rest)
{
    virtio_shared_store16(&descriptor->next_or_flags, DESCRIPTOR_THIRD(rest));
}

static inline unsigned descriptor_flags(const struct virtqueue_descriptor *descriptor)
{
    return virtio_shared_load16(&descriptor->next_or_flags);
}

static inline unsigned descriptor_look(const struct virtqueue_descriptor *descriptor,
                                       struct virtqueue_item *item)
{
    (void)item;
    return descriptor_flags(descriptor);
}

static inline void descriptor_read(const struct virtqueue_descriptor *descriptor,
                                   struct virtqueue_item *item)
{
    item->address = virtio_shared_load16(&descriptor->flags_or_id);
    item->bytes = virtio_shared_load32(&descriptor->bytes);
}

#endif
