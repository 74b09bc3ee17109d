/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The headers that all frames of one UDP flow share (RFC 768, 791, 8200; Ethernet II without a
 * tag). They are learnt from a frame that the stack sent or accepted, and then used to write and to
 * recognise the others. Frames with IP options, extension headers, fragments or contradictory
 * lengths are not recognised; the stack handles them. The functions keep no state outside the
 * structures. Any context.
 */
#ifndef NET_DATAGRAM_FLOW_H
#define NET_DATAGRAM_FLOW_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define DATAGRAM_HEADERS_MAX 62u /* Ethernet 14, IPv6 40, UDP 8 */

/* Bytes of the addresses and ports, which are adjacent in a frame. */
#define DATAGRAM_KEY_MAX 36u

/* The headers of frames to send. */
struct datagram_headers {
    uint8_t frame[DATAGRAM_HEADERS_MAX]; /* headers of the frame learnt from */
    uint8_t bytes;                       /* size of these headers; 0: nothing was learnt */
    uint16_t identification; /* IPv4: identification of the next frame; must not repeat soon
                              * (RFC 6864) */
    /* Ones' complement sums of the constant fields, in the byte order of memory: */
    uint16_t ip_sum;     /* IPv4: the header */
    uint16_t pseudo_sum; /* the pseudo header without its length */
    uint16_t port_sum;
};

/* Identifies received frames. */
struct datagram_key {
    uint8_t value[DATAGRAM_KEY_MAX];
    uint8_t bytes; /* 12: IPv4, 36: IPv6; 0: nothing learnt */
};

/* Learns the headers from a frame to send, whose first `bytes` are at `frame`. Ports are in host
 * byte order. Returns false, and changes nothing, if the frame is not a whole UDP datagram with
 * these ports. */
bool datagram_headers_learn(struct datagram_headers *headers, const uint8_t *frame, size_t bytes,
                            uint16_t source_port, uint16_t destination_port);

/*
 * Copies `data` to `payload` and writes the headers, headers->bytes, in front of it. With `partial`
 * the device completes the UDP checksum: the field holds the sum of the pseudo header (VIRTIO 1.3,
 * 5.1.6.2). `bytes` fits the MTU.
 */
void datagram_write(struct datagram_headers *headers, uint8_t *payload, const void *data,
                    size_t bytes, bool partial);

/* Sets the key. Addresses are in network byte order, of `address_bytes` 4 or 16; ports are in host
 * byte order. */
void datagram_key_set(struct datagram_key *key, const void *source, const void *destination,
                      size_t address_bytes, uint16_t source_port, uint16_t destination_port);

/*
 * Returns the payload of a received frame of this flow and writes its size to *payload_bytes.
 * Returns NULL if the frame belongs to another flow, has other headers, or its headers are damaged.
 * datagram_read() verifies the UDP checksum.
 */
const uint8_t *datagram_key_match(const struct datagram_key *key, const uint8_t *frame,
                                  size_t bytes, size_t *payload_bytes);

/* Copies a matched payload, up to `capacity` bytes of it. The headers must still be in front of the
 * payload. Returns false if the UDP checksum is wrong. */
bool datagram_read(const uint8_t *payload, size_t payload_bytes, bool ipv6, void *data,
                   size_t capacity);

#endif
