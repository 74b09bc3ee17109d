/* SPDX-License-Identifier: BSD-2-Clause */
/* See tcp_segment.h. Field offsets: RFC 791 (3.1), RFC 8200 (3), RFC 9293 (3.1). */
#include "tcp_segment.h"
#include <libc/internet_checksum.h>
#include <string.h>

#define ETHERNET_BYTES 14u
#define IPV4_BYTES     20u
#define IPV6_BYTES     40u
#define TCP_BYTES      20u
#define PROTOCOL_TCP   6u

#define FLAG_PSH 0x08u
#define FLAG_ACK 0x10u

static uint16_t get16(const uint8_t *bytes)
{
    return (uint16_t)((bytes[0] << 8) | bytes[1]);
}

static uint32_t get32(const uint8_t *bytes)
{
    return ((uint32_t)get16(bytes) << 16) | get16(bytes + 2);
}

static void put16(uint8_t *bytes, uint32_t value)
{
    bytes[0] = (uint8_t)(value >> 8);
    bytes[1] = (uint8_t)value;
}

/* Returns the packet's length according to its header, 0 if the packet cannot be joined to others.
 */
static uint32_t ipv4_bytes(const uint8_t *ip)
{
    /* Version 4, a header of 5 words, no fragment (offset and "more fragments" are 0), TCP. */
    if (ip[0] != 0x45 || (get16(ip + 6) & 0x3fff) != 0 || ip[9] != PROTOCOL_TCP ||
        internet_checksum(ip, IPV4_BYTES) != 0xffff) {
        return 0;
    }
    return get16(ip + 2);
}

static uint32_t ipv6_bytes(const uint8_t *ip)
{
    if ((ip[0] & 0xf0) != 0x60 || ip[6] != PROTOCOL_TCP) {
        return 0;
    }
    return IPV6_BYTES + get16(ip + 4);
}

bool tcp_segment_parse(const uint8_t *frame, uint32_t contiguous, uint32_t bytes,
                       struct tcp_segment *segment)
{
    const uint8_t *ip = frame + ETHERNET_BYTES;
    const uint8_t *tcp;
    uint32_t packet_bytes;

    if (contiguous < ETHERNET_BYTES + IPV4_BYTES + TCP_BYTES) {
        return false;
    }
    segment->version_6 = get16(frame + 12) == 0x86dd;
    segment->tcp_start =
        (uint16_t)(ETHERNET_BYTES + (segment->version_6 ? IPV6_BYTES : IPV4_BYTES));
    segment->header_bytes = (uint16_t)(segment->tcp_start + TCP_BYTES);
    if ((!segment->version_6 && get16(frame + 12) != 0x0800) ||
        contiguous < segment->header_bytes) {
        return false;
    }
    packet_bytes = segment->version_6 ? ipv6_bytes(ip) : ipv4_bytes(ip);
    if (ETHERNET_BYTES + packet_bytes <= segment->header_bytes ||
        ETHERNET_BYTES + packet_bytes > bytes) {
        return false;
    }
    tcp = frame + segment->tcp_start;
    if (tcp[12] != (TCP_BYTES / 4) << 4 || (tcp[13] & (uint8_t)~FLAG_PSH) != FLAG_ACK) {
        return false;
    }
    segment->data_bytes = (uint16_t)(ETHERNET_BYTES + packet_bytes - segment->header_bytes);
    segment->sequence = get32(tcp + 4);
    return true;
}

bool tcp_segment_checksum_valid(const uint8_t *frame, const struct tcp_segment *segment)
{
    /* The addresses stand directly in front of the TCP header. */
    uint32_t address_bytes = segment->version_6 ? 32 : 8;
    uint32_t tcp_bytes = TCP_BYTES + (uint32_t)segment->data_bytes;
    uint8_t rest[4] = {0, PROTOCOL_TCP, 0, 0};
    uint32_t sum;

    put16(rest + 2, tcp_bytes);
    sum = internet_checksum(rest, sizeof(rest));
    sum += internet_checksum(frame + segment->tcp_start - address_bytes, address_bytes + tcp_bytes);
    return (sum & 0xffff) + (sum >> 16) == 0xffff;
}

bool tcp_segment_follows(const uint8_t *held_frame, const struct tcp_segment *held,
                         uint32_t held_bytes, const uint8_t *next_frame,
                         const struct tcp_segment *next)
{
    const uint8_t *held_ip = held_frame + ETHERNET_BYTES;
    const uint8_t *next_ip = next_frame + ETHERNET_BYTES;
    const uint8_t *held_tcp = held_frame + held->tcp_start;
    const uint8_t *next_tcp = next_frame + next->tcp_start;

    if (next->sequence != held->sequence + held_bytes || held->version_6 != next->version_6 ||
        memcmp(held_frame, next_frame, ETHERNET_BYTES) != 0) {
        return false;
    }
    if (held->version_6) {
        /* Version, class and flow; next header, hop limit and addresses. */
        if (memcmp(held_ip, next_ip, 4) != 0 || memcmp(held_ip + 6, next_ip + 6, 34) != 0) {
            return false;
        }
    } else if (memcmp(held_ip, next_ip, 2) != 0 || memcmp(held_ip + 6, next_ip + 6, 4) != 0 ||
               memcmp(held_ip + 12, next_ip + 12, 8) != 0) {
        /* Class and congestion marks; fragmentation flags, time to live and protocol; addresses. */
        return false;
    }
    /* Ports; acknowledgement; window. */
    return memcmp(held_tcp, next_tcp, 4) == 0 && memcmp(held_tcp + 8, next_tcp + 8, 4) == 0 &&
           memcmp(held_tcp + 14, next_tcp + 14, 2) == 0;
}

uint32_t tcp_segment_data_max(const struct tcp_segment *segment)
{
    return UINT16_MAX - (uint32_t)segment->header_bytes;
}

void tcp_segment_extend(uint8_t *frame, const struct tcp_segment *segment, uint32_t data_bytes,
                        bool pushed)
{
    uint8_t *ip = frame + ETHERNET_BYTES;

    if (segment->version_6) {
        put16(ip + 4, TCP_BYTES + data_bytes);
    } else {
        uint16_t sum;

        put16(ip + 2, IPV4_BYTES + TCP_BYTES + data_bytes);
        put16(ip + 10, 0);
        sum = (uint16_t)~internet_checksum(ip, IPV4_BYTES);
        memcpy(ip + 10, &sum, sizeof(sum)); /* computed over network order: in network order */
    }
    if (pushed) {
        frame[segment->tcp_start + 13] |= FLAG_PSH;
    }
}

bool tcp_segment_pushed(const uint8_t *frame, const struct tcp_segment *segment)
{
    return (frame[segment->tcp_start + 13] & FLAG_PSH) != 0;
}
