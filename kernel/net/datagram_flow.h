/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What one UDP flow's frames have in common (RFC 768, 791, 8200; Ethernet II without a tag): learnt
 * from one frame that the stack made or accepted, then used to make and to recognise the others.
 * Whatever is not as usual (IP options, extension headers, fragments, lengths that disagree) is not
 * recognised, and stays the stack's business. No state beyond the structures; any context.
 */
#ifndef NET_DATAGRAM_FLOW_H
#define NET_DATAGRAM_FLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DATAGRAM_HEADERS_MAX 62u /* Ethernet 14, IPv6 40, UDP 8 */

/* Addresses and ports as they follow each other in a frame. */
#define DATAGRAM_KEY_MAX 36u

/* For frames to send. */
struct datagram_headers {
    uint8_t frame[DATAGRAM_HEADERS_MAX]; /* headers of the frame learnt from */
    uint8_t bytes;                       /* of them; 0: nothing learnt */
    uint16_t identification;             /* IPv4: of the next frame (RFC 6864: none repeats soon) */
    /* Ones' complement sums of what never changes, in memory's order: */
    uint16_t ip_sum;     /* IPv4: the header */
    uint16_t pseudo_sum; /* the pseudo header without its length */
    uint16_t port_sum;
};

/* For frames received. */
struct datagram_key {
    uint8_t value[DATAGRAM_KEY_MAX];
    uint8_t bytes; /* 12: IPv4, 36: IPv6; 0: nothing learnt */
};

/* Learns from a frame to send with `bytes` of it in one piece. False, and nothing is learnt: it is
 * not a whole UDP datagram with these ports (host's byte order). */
bool datagram_headers_learn(struct datagram_headers *headers, const uint8_t *frame, size_t bytes,
                            uint16_t source_port, uint16_t destination_port);

/*
 * Copies `data` to `payload` and writes the headers.bytes in front of it. With `partial`, the UDP
 * checksum is left to the device: its place has the pseudo header's sum. `bytes` fits the MTU.
 */
void datagram_write(struct datagram_headers *headers, uint8_t *payload, const void *data,
                    size_t bytes, bool partial);

/* Addresses in network byte order, of `address_bytes` 4 or 16; ports in the host's. */
void datagram_key_set(struct datagram_key *key, const void *source, const void *destination,
                      size_t address_bytes, uint16_t source_port, uint16_t destination_port);

/*
 * The payload of a received frame of this flow, and *payload_bytes of it; NULL: it is another's,
 * unusual, or its headers are damaged. The UDP checksum is verified by datagram_read().
 */
const uint8_t *datagram_key_match(const struct datagram_key *key, const uint8_t *frame,
                                  size_t bytes, size_t *payload_bytes);

/* Copies what was matched; of a payload that is longer than `capacity` the first bytes. False: the
 * checksum is wrong. Its headers must still lie in front of it. */
bool datagram_read(const uint8_t *payload, size_t payload_bytes, bool ipv6, void *data,
                   size_t capacity);

#endif
