/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Divides a frame of several TCP segments (TSO), for a driver that does not take it whole. The
 * headers are copied once and checked; each segment is a changed copy of them, and views of the
 * data.
 */
#include "net_frame.h"
#include <string.h>

/* Places in an IPv4 header (RFC 791, 3.1). */
#define IPV4_BYTES_MIN      20u
#define IPV4_LENGTH         2u
#define IPV4_IDENTIFICATION 4u
#define IPV4_FRAGMENT       6u
#define IPV4_PROTOCOL       9u
#define IPV4_CHECKSUM       10u
#define IPV4_SOURCE         12u
#define IPV4_ADDRESSES      8u /* bytes of both */
#define IPV4_IS_FRAGMENT    0x3fffu

/* Places in an IPv6 header (RFC 8200, 3). */
#define IPV6_BYTES     40u
#define IPV6_LENGTH    4u
#define IPV6_SOURCE    8u
#define IPV6_ADDRESSES 32u

#define PROTOCOL_TCP 6u
#define TCP_FIN      0x01u
#define TCP_PSH      0x08u
#define TCP_CWR      0x80u

/* Finds the IP header behind at most two VLAN tags. Returns false if there is none of the type that
 * the frame says, or if its TCP header is not where the checksum begins. */
static bool find_network(struct device_net_segmentation *segmentation)
{
    const uint8_t *headers = segmentation->original;
    uint32_t start = segmentation->frame.checksum_start;
    uint32_t at = ETHERNET_BYTES;
    uint32_t type;

    for (unsigned tags = 0; tags < 2; tags++) {
        type = get_big16(&headers[at - 2]);
        if (type != TYPE_VLAN && type != TYPE_SERVICE_TAG) {
            break;
        }
        at += VLAN_TAG_BYTES;
    }
    type = get_big16(&headers[at - 2]);
    segmentation->network = (uint16_t)at;
    if (segmentation->frame.gso == DEVICE_NET_GSO_TCPV4) {
        return type == TYPE_IPV4 && segmentation->frame.bytes - at <= UINT16_MAX &&
               start >= at + IPV4_BYTES_MIN && headers[at] >> 4 == 4 &&
               start == at + (headers[at] & 0xfu) * 4u &&
               headers[at + IPV4_PROTOCOL] == PROTOCOL_TCP &&
               (get_big16(&headers[at + IPV4_FRAGMENT]) & IPV4_IS_FRAGMENT) == 0;
    }
    /* The driver names the TCP header, so extension headers need not be followed. */
    return type == TYPE_IPV6 && start >= at + IPV6_BYTES && headers[at] >> 4 == 6;
}

bool device_net_segmentation_begin(struct device_net_segmentation *segmentation,
                                   const struct device_net_frame *frame)
{
    uint32_t start = frame->checksum_start;
    uint32_t tcp_bytes;

    if (frame->gso == DEVICE_NET_GSO_NONE || frame->gso_bytes == 0 ||
        frame->count > DEVICE_QUEUE_SIZE_MAX || frame->checksum_offset != TCP_CHECKSUM ||
        start < ETHERNET_BYTES + IPV4_BYTES_MIN || start + TCP_BYTES_MIN > frame->bytes ||
        start + TCP_BYTES_MIN > DEVICE_NET_SEGMENT_HEADERS_MAX) {
        return false;
    }
    segmentation->frame = *frame;
    segmentation->number = 0;
    device_net_gather(frame->segments, 0, segmentation->original, start + TCP_BYTES_MIN);
    tcp_bytes = (segmentation->original[start + TCP_HEADER_LENGTH] >> 4) * 4u;
    segmentation->headers = start + tcp_bytes;
    segmentation->done = segmentation->headers;
    if (tcp_bytes < TCP_BYTES_MIN || segmentation->headers > DEVICE_NET_SEGMENT_HEADERS_MAX ||
        segmentation->headers >= frame->bytes || !find_network(segmentation)) {
        return false;
    }
    /* The bytes before are not read again, because they may have changed. */
    device_net_gather(frame->segments, start + TCP_BYTES_MIN,
                      &segmentation->original[start + TCP_BYTES_MIN], tcp_bytes - TCP_BYTES_MIN);
    return true;
}

/* Sets length, identification and checksum of the IP header for `bytes` of data behind the headers.
 * Returns the sum of both addresses. */
static uint16_t set_network(struct device_net_segmentation *segmentation, uint32_t bytes)
{
    uint8_t *ip = &segmentation->copy[segmentation->network];
    uint32_t start = segmentation->frame.checksum_start;
    uint32_t length = segmentation->headers - segmentation->network + bytes;

    if (segmentation->frame.gso == DEVICE_NET_GSO_TCPV6) {
        put_big16(&ip[IPV6_LENGTH], length - IPV6_BYTES);
        return device_net_sum(&ip[IPV6_SOURCE], IPV6_ADDRESSES);
    }
    put_big16(&ip[IPV4_LENGTH], length);
    put_big16(&ip[IPV4_IDENTIFICATION],
              (uint32_t)get_big16(&ip[IPV4_IDENTIFICATION]) + segmentation->number);
    put_big16(&ip[IPV4_CHECKSUM], 0);
    put_big16(&ip[IPV4_CHECKSUM], (uint16_t)~device_net_sum(ip, start - segmentation->network));
    return device_net_sum(&ip[IPV4_SOURCE], IPV4_ADDRESSES);
}

/* Sets sequence number, flags, and the sum of the pseudo header (RFC 9293, 3.1). FIN and PSH are
 * the last segment's, CWR the first one's (RFC 3168, 6.1.2). */
static void set_transport(struct device_net_segmentation *segmentation, uint32_t bytes,
                          uint16_t addresses)
{
    uint8_t *tcp = &segmentation->copy[segmentation->frame.checksum_start];
    uint32_t sequence =
        (uint32_t)get_big16(&tcp[TCP_SEQUENCE]) << 16 | get_big16(&tcp[TCP_SEQUENCE + 2]);
    uint32_t length = segmentation->headers - segmentation->frame.checksum_start + bytes;

    sequence += segmentation->done - segmentation->headers;
    put_big16(&tcp[TCP_SEQUENCE], sequence >> 16);
    put_big16(&tcp[TCP_SEQUENCE + 2], sequence);
    if (segmentation->done + bytes < segmentation->frame.bytes) {
        tcp[TCP_FLAGS] &= (uint8_t) ~(TCP_FIN | TCP_PSH);
    }
    if (segmentation->number != 0) {
        tcp[TCP_FLAGS] &= (uint8_t)~TCP_CWR;
    }
    put_big16(&tcp[TCP_CHECKSUM], device_net_fold((uint64_t)addresses + PROTOCOL_TCP + length));
}

/* Describes `bytes` of the frame's data behind the headers. Returns the number of segments. */
static unsigned describe(struct device_net_segmentation *segmentation, uint32_t bytes)
{
    const struct device_net_frame *frame = &segmentation->frame;
    uint32_t start = segmentation->done;
    unsigned count = 0;

    segmentation->segments[count++] =
        (struct device_segment){segmentation->copy, segmentation->headers};
    for (unsigned i = 0; bytes != 0; i++) {
        const struct device_segment *segment = &frame->segments[i];

        if (start < segment->bytes) {
            uint32_t rest = segment->bytes - start;
            uint32_t piece = rest < bytes ? rest : bytes;

            segmentation->segments[count++] =
                (struct device_segment){segment->memory + start, piece};
            bytes -= piece;
            start = 0;
        } else {
            start -= segment->bytes;
        }
    }
    return count;
}

bool device_net_segmentation_next(struct device_net_segmentation *segmentation,
                                  struct device_net_frame *segment)
{
    const struct device_net_frame *frame = &segmentation->frame;
    uint32_t rest = frame->bytes - segmentation->done;
    uint32_t bytes = rest < frame->gso_bytes ? rest : frame->gso_bytes;

    if (bytes == 0) {
        return false;
    }
    memcpy(segmentation->copy, segmentation->original, segmentation->headers);
    set_transport(segmentation, bytes, set_network(segmentation, bytes));
    *segment = (struct device_net_frame){
        .segments = segmentation->segments,
        .count = describe(segmentation, bytes),
        .bytes = segmentation->headers + bytes,
        .checksum_partial = true,
        .checksum_start = frame->checksum_start,
        .checksum_offset = frame->checksum_offset,
    };
    segmentation->done += bytes;
    segmentation->number++;
    return true;
}
