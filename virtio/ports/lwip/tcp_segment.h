/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * TCP data segments in Ethernet frames, as far as it takes to join those that follow each other.
 * Plain bytes in, plain bytes out: nothing of lwIP, and nothing is believed that was not checked.
 */
#ifndef VIRTIO_PORT_TCP_SEGMENT_H
#define VIRTIO_PORT_TCP_SEGMENT_H

#include <stdbool.h>
#include <stdint.h>

struct tcp_segment {
    uint16_t tcp_start;    /* of the TCP header, from the frame's first byte */
    uint16_t header_bytes; /* Ethernet, IP and TCP */
    uint16_t data_bytes;   /* > 0; what follows in the frame is padding */
    uint32_t sequence;     /* of the first data byte */
    bool version_6;
};

/*
 * `contiguous` bytes of the frame lie at `frame`, `bytes` are in it in all. True, and *segment
 * filled in, if the headers lie there and it is a TCP segment that others may be joined to: a whole
 * IPv4 packet (header checksum verified) or IPv6 packet without options or extension headers, no
 * TCP options, data, and no flag but ACK and PSH. The TCP checksum is not looked at.
 */
bool tcp_segment_parse(const uint8_t *frame, uint32_t contiguous, uint32_t bytes,
                       struct tcp_segment *segment);

/* Whether the TCP checksum of a parsed frame is right (RFC 9293, 3.1). */
bool tcp_segment_checksum_valid(const uint8_t *frame, const struct tcp_segment *segment);

/*
 * True if the data of `next` directly follows `held_bytes` of data that begin with `held`, in the
 * same connection and direction, and all that a receiver looks at in the headers is the same:
 * joining the two tells it nothing else than the two would have told.
 */
bool tcp_segment_follows(const uint8_t *held_frame, const struct tcp_segment *held,
                         uint32_t held_bytes, const uint8_t *next_frame,
                         const struct tcp_segment *next);

/* The largest amount of data that leaves the frame's length, and so the IP length field, in 16
 * bits. */
uint32_t tcp_segment_data_max(const struct tcp_segment *segment);

/* Makes the frame's headers those of a segment with `data_bytes` of data: IP length and, for IPv4,
 * header checksum; PSH if `pushed`. The TCP checksum is void afterwards. */
void tcp_segment_extend(uint8_t *frame, const struct tcp_segment *segment, uint32_t data_bytes,
                        bool pushed);

/* Whether PSH is set in a parsed frame. */
bool tcp_segment_pushed(const uint8_t *frame, const struct tcp_segment *segment);

#endif
