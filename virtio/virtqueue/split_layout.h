/* SPDX-License-Identifier: BSD-2-Clause */
/* A split virtqueue as it lies in memory (VIRTIO 1.3, 2.7). All fields are little-endian. */
#ifndef VIRTIO_VIRTQUEUE_SPLIT_LAYOUT_H
#define VIRTIO_VIRTQUEUE_SPLIT_LAYOUT_H

#include <stdint.h>

/* 2.7.5 */
struct virtqueue_descriptor {
    uint64_t address;
    uint32_t bytes;
    uint16_t flags;
    uint16_t next;
};

#define DESCRIPTOR_NEXT     0x1u
#define DESCRIPTOR_WRITE    0x2u
#define DESCRIPTOR_INDIRECT 0x4u

/* 2.7.6; used_event follows the ring */
struct virtqueue_available {
    uint16_t flags;
    uint16_t index;
    uint16_t ring[];
};

#define AVAILABLE_NO_INTERRUPT 0x1u

/* 2.7.8 */
struct virtqueue_used_element {
    uint32_t id;
    uint32_t bytes;
};

/* 2.7.8; avail_event follows the ring */
struct virtqueue_used {
    uint16_t flags;
    uint16_t index;
    struct virtqueue_used_element ring[];
};

#define USED_NO_NOTIFY 0x1u

/* 2.7 demands 16, 2 and 4. The parts written by the driver and by the device get cache lines of
 * their own, so that neither's writes slow the other's reads; a legacy device sets the alignment
 * itself. */
#define DESCRIPTORS_ALIGNMENT 16u
#define AVAILABLE_ALIGNMENT   2u
#define QUEUE_ALIGNMENT       64u

#endif
