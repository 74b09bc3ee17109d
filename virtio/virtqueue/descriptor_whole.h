/* SPDX-License-Identifier: BSD-2-Clause */
/* Accesses to descriptors on 64-bit processors: see descriptor.h. */
#ifndef VIRTIO_VIRTQUEUE_DESCRIPTOR_WHOLE_H
#define VIRTIO_VIRTQUEUE_DESCRIPTOR_WHOLE_H

#define DESCRIPTOR_FLAGS_SHIFT 48 /* position of the flags in packed_rest() */
#define DESCRIPTOR_ID_SHIFT    32

static inline void descriptor_write(struct virtqueue_descriptor *descriptor, uint64_t address,
                                    uint64_t rest)
{
    virtio_shared_store64(&descriptor->address, address);
    virtio_shared_store64(&descriptor->rest, rest);
}

static inline void descriptor_update(struct virtqueue_descriptor *descriptor, uint64_t address,
                                     uint64_t rest)
{
    if (virtio_shared_load64(&descriptor->address) != address) {
        virtio_shared_store64(&descriptor->address, address);
    }
    if (virtio_shared_load64(&descriptor->rest) != rest) {
        virtio_shared_store64(&descriptor->rest, rest);
    }
}

static inline void descriptor_fill(struct virtqueue_descriptor *descriptor, uint64_t address,
                                   uint64_t rest)
{
    (void)rest;
    virtio_shared_store64(&descriptor->address, address);
}

static inline void descriptor_announce(struct virtqueue_descriptor *descriptor, uint64_t rest)
{
    virtio_shared_store64(&descriptor->rest, rest);
}

static inline unsigned descriptor_flags(const struct virtqueue_descriptor *descriptor)
{
    return (unsigned)(virtio_shared_load64(&descriptor->rest) >> DESCRIPTOR_FLAGS_SHIFT);
}

static inline unsigned descriptor_look(const struct virtqueue_descriptor *descriptor,
                                       struct virtqueue_item *item)
{
    uint64_t rest = virtio_shared_load64(&descriptor->rest);

    item->address = (uint16_t)(rest >> DESCRIPTOR_ID_SHIFT);
    item->bytes = (uint32_t)rest;
    return (unsigned)(rest >> DESCRIPTOR_FLAGS_SHIFT);
}

/* Does nothing, because descriptor_look() has read all fields. */
static inline void descriptor_read(const struct virtqueue_descriptor *descriptor,
                                   struct virtqueue_item *item)
{
    (void)descriptor;
    (void)item;
}

#endif
