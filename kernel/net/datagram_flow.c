/* SPDX-License-Identifier: BSD-2-Clause */
/* See datagram_flow.h. Sums are made of 16-bit words as they lie in memory (RFC 1071, 2(B)). */
#include "net/datagram_flow.h"
#include <libc/internet_checksum.h>
#include <string.h>

#define ETHERNET_BYTES 14u
#define IPV4_BYTES     20u
#define IPV6_BYTES     40u
#define UDP_BYTES      8u
#define PROTOCOL_UDP   17u

/* Offsets of fields in a frame. */
#define AT_TYPE       12u
#define AT_VERSION    14u
#define AT_IP4_LENGTH 16u
#define AT_IP4_ID     18u
#define AT_IP4_FLAGS  20u
#define AT_IP4_PROTO  23u
#define AT_IP4_SUM    24u
#define AT_IP4_KEY    26u
#define AT_IP6_LENGTH 18u
#define AT_IP6_NEXT   20u
#define AT_IP6_KEY    22u

#define KEY_IPV4 12u
#define KEY_IPV6 36u

static inline uint16_t load16(const uint8_t *at)
{
    uint16_t value;

    memcpy(&value, at, sizeof(value));
    return value;
}

static inline void store16(uint8_t *at, uint16_t value)
{
    memcpy(at, &value, sizeof(value));
}

/* Converts between host and network byte order. */
static inline uint16_t swapped(size_t value)
{
    return __builtin_bswap16((uint16_t)value);
}

static inline uint16_t fold(uint32_t sum)
{
    sum = (sum & 0xffffu) + (sum >> 16);
    return (uint16_t)(sum + (sum >> 16));
}

/* Returns the ones' complement sum of `words` words of 4 bytes; for headers. */
static inline uint16_t sum_words(const uint8_t *data, unsigned words)
{
    uint64_t sum = 0;

    for (unsigned i = 0; i < words; i++) {
        uint32_t word;

        memcpy(&word, data + (size_t)4 * i, sizeof(word));
        sum += word;
    }
    sum = (sum & UINT32_MAX) + (sum >> 32);
    sum = (sum & 0xffffu) + (sum >> 16);
    return fold((uint32_t)sum);
}

/* Returns the size of the headers in front of the UDP payload. Returns 0 unless they are Ethernet
 * II, unfragmented IP without options or extension headers, and UDP. */
static size_t usual_headers(const uint8_t *frame, size_t bytes)
{
    if (bytes < ETHERNET_BYTES + IPV4_BYTES + UDP_BYTES) {
        return 0;
    }
    if (load16(frame + AT_TYPE) == swapped(0x0800)) {
        /* Version 4 without options; not a fragment, also not the first one (DF may be set). */
        return frame[AT_VERSION] == 0x45 && frame[AT_IP4_PROTO] == PROTOCOL_UDP &&
                       (load16(frame + AT_IP4_FLAGS) & swapped(0xbfff)) == 0
                   ? ETHERNET_BYTES + IPV4_BYTES + UDP_BYTES
                   : 0;
    }
    if (load16(frame + AT_TYPE) != swapped(0x86dd) ||
        bytes < ETHERNET_BYTES + IPV6_BYTES + UDP_BYTES) {
        return 0;
    }
    return (frame[AT_VERSION] & 0xf0u) == 0x60 && frame[AT_IP6_NEXT] == PROTOCOL_UDP
               ? ETHERNET_BYTES + IPV6_BYTES + UDP_BYTES
               : 0;
}

static inline bool is_ipv4(size_t headers)
{
    return headers == ETHERNET_BYTES + IPV4_BYTES + UDP_BYTES;
}

bool datagram_headers_learn(struct datagram_headers *headers, const uint8_t *frame, size_t bytes,
                            uint16_t source_port, uint16_t destination_port)
{
    size_t length = usual_headers(frame, bytes);
    bool ipv4 = is_ipv4(length);
    uint8_t *copy = headers->frame;
    uint8_t *udp;

    if (length == 0 || load16(frame + length - UDP_BYTES) != swapped(source_port) ||
        load16(frame + length - UDP_BYTES + 2) != swapped(destination_port)) {
        return false;
    }
    memcpy(copy, frame, length);
    udp = copy + length - UDP_BYTES;
    store16(udp + 4, 0);
    store16(udp + 6, 0);
    if (ipv4) {
        headers->identification = (uint16_t)(swapped(load16(copy + AT_IP4_ID)) + 1u);
        store16(copy + AT_IP4_LENGTH, 0);
        store16(copy + AT_IP4_ID, 0);
        store16(copy + AT_IP4_SUM, 0);
        headers->ip_sum = sum_words(copy + ETHERNET_BYTES, IPV4_BYTES / 4);
    } else {
        store16(copy + AT_IP6_LENGTH, 0);
    }
    headers->port_sum = internet_checksum(udp, 4);
    headers->pseudo_sum = fold((uint32_t)swapped(PROTOCOL_UDP) +
                               internet_checksum(copy + (ipv4 ? AT_IP4_KEY : AT_IP6_KEY),
                                                 (ipv4 ? KEY_IPV4 : KEY_IPV6) - 4u));
    headers->bytes = (uint8_t)length;
    return true;
}

static inline void write_ip(struct datagram_headers *headers, uint8_t *frame, size_t udp_bytes)
{
    if (is_ipv4(headers->bytes)) {
        uint16_t length = swapped(udp_bytes + IPV4_BYTES);
        uint16_t identification = swapped(headers->identification++);

        store16(frame + AT_IP4_LENGTH, length);
        store16(frame + AT_IP4_ID, identification);
        store16(frame + AT_IP4_SUM,
                (uint16_t)~fold((uint32_t)headers->ip_sum + length + identification));
    } else {
        store16(frame + AT_IP6_LENGTH, swapped(udp_bytes));
    }
}

void datagram_write(struct datagram_headers *headers, uint8_t *payload, const void *data,
                    size_t bytes, bool partial)
{
    uint8_t *udp = payload - UDP_BYTES;
    uint8_t *frame = payload - headers->bytes;
    uint16_t length = swapped(bytes + UDP_BYTES);
    uint32_t sum = (uint32_t)headers->pseudo_sum + length;

    /* A copy of constant size compiles to a few instructions. */
    if (is_ipv4(headers->bytes)) {
        memcpy(frame, headers->frame, ETHERNET_BYTES + IPV4_BYTES + UDP_BYTES);
    } else {
        memcpy(frame, headers->frame, ETHERNET_BYTES + IPV6_BYTES + UDP_BYTES);
    }
    write_ip(headers, frame, bytes + UDP_BYTES);
    store16(udp + 4, length);
    if (partial) {
        memcpy(payload, data, bytes);
        store16(udp + 6, fold(sum)); /* VIRTIO 1.3, 5.1.6.2 */
        return;
    }
    sum += (uint32_t)headers->port_sum + length + internet_checksum_copy(payload, data, bytes);
    sum = (uint16_t)~fold(sum);
    store16(udp + 6, sum == 0 ? 0xffff : (uint16_t)sum); /* RFC 768: 0 means no checksum */
}

void datagram_key_set(struct datagram_key *key, const void *source, const void *destination,
                      size_t address_bytes, uint16_t source_port, uint16_t destination_port)
{
    memcpy(key->value, source, address_bytes);
    memcpy(key->value + address_bytes, destination, address_bytes);
    store16(key->value + 2 * address_bytes, swapped(source_port));
    store16(key->value + 2 * address_bytes + 2, swapped(destination_port));
    key->bytes = (uint8_t)(2 * address_bytes + 4);
}

/* Returns true if the lengths in the headers agree and the frame is at least as long (it may be
 * padded). */
static bool lengths_agree(const uint8_t *frame, size_t headers, size_t bytes, size_t udp_bytes)
{
    size_t ip_bytes = is_ipv4(headers) ? swapped(load16(frame + AT_IP4_LENGTH)) - IPV4_BYTES
                                       : swapped(load16(frame + AT_IP6_LENGTH));

    return udp_bytes >= UDP_BYTES && ip_bytes == udp_bytes &&
           udp_bytes <= bytes - (headers - UDP_BYTES);
}

const uint8_t *datagram_key_match(const struct datagram_key *key, const uint8_t *frame,
                                  size_t bytes, size_t *payload_bytes)
{
    size_t headers = usual_headers(frame, bytes);
    bool ipv4 = is_ipv4(headers);
    const uint8_t *udp = frame + headers - UDP_BYTES;
    size_t udp_bytes;

    if (headers == 0 || key->bytes != (ipv4 ? KEY_IPV4 : KEY_IPV6) ||
        (ipv4 ? memcmp(frame + AT_IP4_KEY, key->value, KEY_IPV4)
              : memcmp(frame + AT_IP6_KEY, key->value, KEY_IPV6)) != 0) {
        return NULL;
    }
    udp_bytes = swapped(load16(udp + 4));
    if (!lengths_agree(frame, headers, bytes, udp_bytes) ||
        (ipv4 ? sum_words(frame + ETHERNET_BYTES, IPV4_BYTES / 4) != 0xffff
              : load16(udp + 6) == 0)) { /* RFC 8200, 8.1: the checksum is mandatory */
        return NULL;
    }
    *payload_bytes = udp_bytes - UDP_BYTES;
    return udp + UDP_BYTES;
}

bool datagram_read(const uint8_t *payload, size_t payload_bytes, bool ipv6, void *data,
                   size_t capacity)
{
    const uint8_t *udp = payload - UDP_BYTES;
    uint32_t sum = (uint32_t)swapped(PROTOCOL_UDP) + swapped(payload_bytes + UDP_BYTES);

    if (load16(udp + 6) == 0) { /* RFC 768: the sender computed no checksum */
        memcpy(data, payload, payload_bytes < capacity ? payload_bytes : capacity);
        return true;
    }
    /* The addresses are directly in front of the UDP header. */
    sum += ipv6 ? sum_words(udp - 32, 10) : sum_words(udp - 8, 4);
    if (payload_bytes <= capacity) {
        sum += internet_checksum_copy(data, payload, payload_bytes);
    } else {
        memcpy(data, payload, capacity);
        sum += internet_checksum(payload, payload_bytes);
    }
    return fold(sum) == 0xffff;
}
