/* SPDX-License-Identifier: BSD-2-Clause */
/* Bytes of a frame whose memory a driver may change: copies, its size, and its checksum. */
#include "net_frame.h"

#include "virtio/endian.h"
#include <string.h>

void device_net_gather(const struct device_segment *segments, uint32_t start, uint8_t *to,
                       uint32_t bytes)
{
    while (bytes != 0) {
        if (start < segments->bytes) {
            uint32_t rest = segments->bytes - start;
            uint32_t piece = rest < bytes ? rest : bytes;

            copy_once(to, segments->memory + start, piece);
            to += piece;
            bytes -= piece;
            start = 0;
        } else {
            start -= segments->bytes;
        }
        segments++;
    }
}

bool device_net_exceeds_mtu(const struct device_net *net, const struct device_net_frame *frame)
{
    uint32_t limit = (uint32_t)net->mtu + ETHERNET_BYTES;
    uint8_t type[2];

    if (frame->gso != DEVICE_NET_GSO_NONE || net->mtu == UINT16_MAX || frame->bytes <= limit) {
        return false;
    }
    /* A VLAN tag is part of the Ethernet header, not of the MTU. */
    device_net_gather(frame->segments, ETHERNET_TYPE, type, sizeof(type));
    return get_big16(type) != TYPE_VLAN || frame->bytes > limit + VLAN_TAG_BYTES;
}

uint16_t device_net_fold(uint64_t sum)
{
    while (sum > UINT16_MAX) {
        sum = (sum & UINT16_MAX) + (sum >> 16);
    }
    return (uint16_t)sum;
}

/* The sum does not depend on the byte order in which it is computed (RFC 1071, 2B), so it is
 * computed in the processor's. */
uint16_t device_net_sum(const uint8_t *data, uint32_t bytes)
{
    uint64_t sum = 0;
    uint16_t folded;

    for (; bytes >= 4; bytes -= 4, data += 4) {
        uint32_t word;

        memcpy(&word, data, sizeof(word));
        sum += word;
    }
    while (bytes != 0) {
        uint32_t piece = bytes > 1 ? 2 : 1;
        uint16_t word = 0; /* the last byte is padded with 0 */

        memcpy(&word, data, piece);
        sum += word;
        data += piece;
        bytes -= piece;
    }
    folded = device_net_fold(sum);
    return virtio_big_endian() ? folded : __builtin_bswap16(folded);
}

uint16_t device_net_checksum(const struct device_net_frame *frame)
{
    uint32_t skip = frame->checksum_start;
    uint64_t sum = 0;
    bool is_odd = false;
    uint16_t checksum;

    for (unsigned i = 0; i < frame->count; i++) {
        const struct device_segment *segment = &frame->segments[i];

        if (skip < segment->bytes) {
            uint16_t part = device_net_sum(segment->memory + skip, segment->bytes - skip);

            sum += is_odd ? __builtin_bswap16(part) : part;
            is_odd ^= (segment->bytes - skip) % 2 != 0;
            skip = 0;
        } else {
            skip -= segment->bytes;
        }
    }
    checksum = (uint16_t)~device_net_fold(sum);
    /* Both are the same number in ones' complement. */
    return checksum == 0 ? UINT16_MAX : checksum;
}
