/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * TCP data segments in Ethernet frames: parsing and editing as needed to join consecutive segments.
 * Works on bytes and does not depend on lwIP. Every field is checked before use.
 */
#ifndef VIRTIO_PORT_TCP_SEGMENT_H
#define VIRTIO_PORT_TCP_SEGMENT_H

#include <stdbool.h>
#include <stdint.h>

struct tcp_segment {
    uint16_t tcp_start;    /* offset of the TCP header in the frame */
    uint16_t header_bytes; /* length of the Ethernet, IP and TCP headers */
    uint16_t data_bytes;   /* > 0; the rest of the frame is padding */
    uint32_t sequence;     /* number of the first data byte */
    bool version_6;
};

/*
 * Parses a frame of `bytes` bytes, of which the first `contiguous` lie at `frame`. Returns true and
 * fills in *segment if the headers are contiguous and the frame is a TCP segment that can be joined
 * to others: an unfragmented IPv4 packet (header checksum verified) or IPv6 packet without options
 * or extension headers, without TCP options, with data, and with no flags other than ACK and PSH.
 * Does not verify the TCP checksum.
 */
bool tcp_segment_parse(const uint8_t *frame, uint32_t contiguous, uint32_t bytes,
                       struct tcp_segment *segment);

/* Returns true if the TCP checksum of a parsed, contiguous frame is correct (RFC 9293, 3.1). */
bool tcp_segment_checksum_valid(const uint8_t *frame, const struct tcp_segment *segment);

/*
 * Returns true if `next` can be joined to `held`, a segment that has grown to `held_bytes` of data:
 * same connection and direction, next sequence number, and all header fields that a receiver
 * evaluates equal, so that the joined segment has the same meaning as the two.
 */
bool tcp_segment_follows(const uint8_t *held_frame, const struct tcp_segment *held,
                         uint32_t held_bytes, const uint8_t *next_frame,
                         const struct tcp_segment *next);

/* Returns the maximum of data bytes in a joined segment: the frame's length, and so the IP length
 * field, fits in 16 bits. */
uint32_t tcp_segment_data_max(const struct tcp_segment *segment);

/* Sets the frame's headers for `data_bytes` of data: IP length and, for IPv4, the header checksum;
 * PSH if `pushed`. The TCP checksum is invalid afterwards. */
void tcp_segment_extend(uint8_t *frame, const struct tcp_segment *segment, uint32_t data_bytes,
                        bool pushed);

/* Returns true if PSH is set in a parsed frame. */
bool tcp_segment_pushed(const uint8_t *frame, const struct tcp_segment *segment);

#endif
