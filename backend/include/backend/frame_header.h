/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The addresses, the VLAN tag and the type of an Ethernet frame (IEEE 802.3, 3.2; IEEE 802.1Q, 9).
 * A frame begins with its destination address and ends without a frame check sequence, as in a
 * buffer of a virtio device.
 *
 * A MAC address is a number of 48 bits whose highest byte is the first byte of the address in a
 * frame. Any context.
 */
#ifndef BACKEND_FRAME_HEADER_H
#define BACKEND_FRAME_HEADER_H

#include <stdbool.h>
#include <stdint.h>

#define FRAME_ADDRESS_BYTES    6u
#define FRAME_ADDRESSES_BYTES  12u /* destination and source */
#define FRAME_TAG_BYTES        4u
#define FRAME_HEADER_BYTES     14u /* addresses and type, without a tag */
#define FRAME_HEADER_BYTES_MAX (FRAME_HEADER_BYTES + FRAME_TAG_BYTES)
#define FRAME_VLAN_MAX         4094u /* VLAN 4095 is reserved (IEEE 802.1Q, table 9-2) */

struct frame_header {
    uint64_t destination;
    uint64_t source;
    uint16_t type;    /* behind the tag, if the frame has one */
    uint16_t control; /* tag control information (IEEE 802.1Q, 9.6); 0 without a tag */
    bool has_tag;     /* C-tag, type 0x8100 */
};

/*
 * Reads the header of a frame. `bytes`: at least the first FRAME_HEADER_BYTES_MAX bytes of the
 * frame, or all of a shorter frame. It is a copy that nobody else can change. `frame_bytes`: length
 * of the frame. Returns false if the frame ends in its header.
 */
bool frame_header_read(struct frame_header *header, const uint8_t *bytes, uint32_t frame_bytes);

/* Returns true if the type is that of a VLAN tag: C-tag 0x8100, S-tag 0x88a8 (IEEE 802.1Q, table
 * 9-1), or 0x9100, which switches used for S-tags before the standard. */
bool frame_type_is_tag(uint16_t type);

/* Returns the VLAN in the tag, 0 to 4095. It is 0 without a tag, and if the tag only has a priority
 * (IEEE 802.1Q, table 9-2). */
static inline uint16_t frame_vlan(const struct frame_header *header)
{
    return header->control & 0x0fffu;
}

/* Returns true if the address is that of a group: multicast or broadcast (IEEE 802, 8.2.2). */
static inline bool frame_address_is_group(uint64_t address)
{
    return (address >> 40 & 1) != 0;
}

#endif
