/* SPDX-License-Identifier: BSD-2-Clause */
/* Private to the device's side of the network device: struct virtio_net_hdr (VIRTIO 1.3, 5.1.6),
 * commands, and bytes of a frame. */
#ifndef VIRTIO_DEVICE_NET_FRAME_H
#define VIRTIO_DEVICE_NET_FRAME_H

#include "virtio/device_net.h"

/* Places in struct virtio_net_hdr. */
#define HEADER_FLAGS           0u
#define HEADER_GSO_TYPE        1u
#define HEADER_BYTES           2u
#define HEADER_GSO_BYTES       4u
#define HEADER_CHECKSUM_START  6u
#define HEADER_CHECKSUM_OFFSET 8u
#define HEADER_BUFFERS         10u

#define HEADER_NEEDS_CHECKSUM 0x1u /* VIRTIO_NET_HDR_F_NEEDS_CSUM */
#define HEADER_DATA_VALID     0x2u /* VIRTIO_NET_HDR_F_DATA_VALID */

#define CHECKSUM_BYTES 2u

/* Places in an Ethernet header. */
#define ETHERNET_TYPE    12u
#define ETHERNET_BYTES   14u
#define VLAN_TAG_BYTES   4u
#define TYPE_IPV4        0x0800u
#define TYPE_IPV6        0x86ddu
#define TYPE_VLAN        0x8100u /* IEEE 802.1Q */
#define TYPE_SERVICE_TAG 0x88a8u

/* Places in a TCP header (RFC 9293, 3.1). */
#define TCP_SEQUENCE      4u
#define TCP_HEADER_LENGTH 12u /* the upper half: units of 4 bytes */
#define TCP_FLAGS         13u
#define TCP_CHECKSUM      16u
#define TCP_BYTES_MIN     20u

/* Commands that set a receive mode (5.1.6.5.1): places in device_net_filter.modes. */
enum { PROMISCUOUS, ALL_MULTICAST, ALL_UNICAST, NO_MULTICAST, NO_UNICAST, NO_BROADCAST, MODES };

static inline bool device_net_accepted(const struct device_net *net, uint64_t features)
{
    return (net->features & features) == features;
}

/* Numbers in struct virtio_net_hdr and in commands are little-endian (1.4). */
static inline uint16_t get_little16(const uint8_t *at)
{
    return (uint16_t)(at[1] << 8 | at[0]);
}

static inline void put_little16(uint8_t *at, uint32_t value)
{
    at[0] = (uint8_t)value;
    at[1] = (uint8_t)(value >> 8);
}

/* Numbers in headers of the network are big-endian. */
static inline uint16_t get_big16(const uint8_t *at)
{
    return (uint16_t)(at[0] << 8 | at[1]);
}

static inline void put_big16(uint8_t *at, uint32_t value)
{
    at[0] = (uint8_t)(value >> 8);
    at[1] = (uint8_t)value;
}

/* Copies bytes from memory that a driver may change meanwhile: each is read exactly once. */
static inline void copy_once(uint8_t *to, const uint8_t *from, uint32_t bytes)
{
    const volatile uint8_t *shared = from;

    for (uint32_t i = 0; i < bytes; i++) {
        to[i] = shared[i];
    }
}

/* Copies `bytes` of the segments from byte `start` on. They have at least start + bytes. */
void device_net_gather(const struct device_segment *segments, uint32_t start, uint8_t *to,
                       uint32_t bytes);
/* Returns true if a frame without segmentation exceeds the MTU (5.1.4.1). */
bool device_net_exceeds_mtu(const struct device_net *net, const struct device_net_frame *frame);
/* Returns the ones' complement sum of bytes as 16-bit numbers, the first byte in the upper half. */
uint16_t device_net_sum(const uint8_t *data, uint32_t bytes);
/* Returns the ones' complement sum of such sums. */
uint16_t device_net_fold(uint64_t sum);

#endif
