/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The VLAN tag of a received frame (IEEE 802.1Q, 9.3 and 9.6). The driver passes frames with a tag
 * on as they are. A station handles a frame with a tag of VLAN 0 like the same frame without the
 * tag: the frame has a priority, and belongs to no VLAN (6.9.1). Any context.
 */
#ifndef VIRTIO_VLAN_H
#define VIRTIO_VLAN_H

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

#define VIRTIO_VLAN_TAG_BYTES 4u

/* Bytes in front of the tag: the two addresses. */
#define VIRTIO_VLAN_ADDRESS_BYTES 12u

/* Returns true if the frame has a tag. The frame has at least 14 bytes, as every received one. */
static inline bool virtio_vlan_has_tag(const uint8_t *frame)
{
    return frame[VIRTIO_VLAN_ADDRESS_BYTES] == 0x81 && frame[VIRTIO_VLAN_ADDRESS_BYTES + 1] == 0x00;
}

/* Returns the VLAN in the tag of a frame of at least 18 bytes, 0 to 4095. */
static inline uint16_t virtio_vlan_of(const uint8_t *frame)
{
    const uint8_t *control = frame + VIRTIO_VLAN_ADDRESS_BYTES + 2;

    return (uint16_t)((control[0] & 0x0fu) << 8 | control[1]);
}

/* Removes the tag from a frame of at least 18 bytes. Returns the frame's new start, 4 bytes further
 * on. */
static inline uint8_t *virtio_vlan_remove_tag(uint8_t *frame)
{
    memmove(frame + VIRTIO_VLAN_TAG_BYTES, frame, VIRTIO_VLAN_ADDRESS_BYTES);
    return frame + VIRTIO_VLAN_TAG_BYTES;
}

#endif
