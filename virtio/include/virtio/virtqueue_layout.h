/* SPDX-License-Identifier: BSD-2-Clause */
/* The layout of virtqueues in memory: split (VIRTIO 1.3, 2.7) and packed (2.8). All fields are
 * little-endian. */
#ifndef VIRTIO_VIRTQUEUE_LAYOUT_H
#define VIRTIO_VIRTQUEUE_LAYOUT_H

#include <stdint.h>

/*
 * 2.7.5 and 2.8.13. The second half as a whole:
 *   split:  length (bits 0-31), flags (32-47), next (48-63)
 *   packed: length (bits 0-31), buffer id (32-47), flags (48-63)
 * descriptor.h selects one of the two views by the processor.
 */
struct virtqueue_descriptor {
    union {
        uint64_t address;
        struct {
            uint32_t address_low;
            uint32_t address_high;
        };
    };
    union {
        uint64_t rest;
        struct {
            uint32_t bytes;
            uint16_t flags_or_id;   /* split: flags; packed: buffer id */
            uint16_t next_or_flags; /* split: next; packed: flags */
        };
    };
};

_Static_assert(sizeof(struct virtqueue_descriptor) == 16, "a descriptor as the device sees it");

/* The same bits in both formats. */
#define DESCRIPTOR_NEXT     0x1u
#define DESCRIPTOR_WRITE    0x2u
#define DESCRIPTOR_INDIRECT 0x4u

/* Packed only, 2.8.1 */
#define DESCRIPTOR_AVAILABLE 0x80u
#define DESCRIPTOR_USED      0x8000u

static inline uint64_t split_rest(uint32_t bytes, unsigned flags, uint16_t next)
{
    return bytes | ((uint64_t)flags << 32) | ((uint64_t)next << 48);
}

static inline uint64_t packed_rest(uint32_t bytes, uint16_t id, unsigned flags)
{
    return bytes | ((uint64_t)id << 32) | ((uint64_t)flags << 48);
}

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

/* Packed: the event suppression structure (2.8.14) as one word: descriptor offset (bits 0-14), wrap
 * counter (15) and flags (16-17). */
#define EVENT_WRAP    0x8000u
#define EVENT_ENABLE  0x00000u
#define EVENT_DISABLE 0x10000u
#define EVENT_DESC    0x20000u
#define EVENT_FLAGS   0x30000u

#endif
