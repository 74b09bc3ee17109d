/* SPDX-License-Identifier: BSD-2-Clause */
/* See frames.h. */
#include "frames.h"
#include "station.h"
#include <string.h>

#define ETHERTYPE_TESTS 0x88b5u /* for local experiments (IEEE 802) */
#define ETHERTYPE_VLAN  0x8100u
#define ETHERTYPE_IPV4  0x0800u
#define ETHERTYPE_IPV6  0x86ddu

static const uint8_t station_address[6] = {0x52, 0x54, 0x00, 0x12, 0x34, 0x56};
static const uint8_t far_address[6] = {0x52, 0x54, 0x00, 0xab, 0xcd, 0xef};

static const uint8_t *addressed_to = station_address;

void frame_address_to(const uint8_t *address)
{
    addressed_to = address != NULL ? address : station_address;
}

/* Layout by kind of frame: a plain one, one with a VLAN tag, one with IP and TCP headers. */
struct layout {
    uint16_t ethertype;
    uint16_t transport; /* offset of the TCP header */
    uint16_t number;    /* offset of the number */
};

static const struct layout *layout_of(struct frame_kind kind)
{
    static const struct layout plain = {ETHERTYPE_TESTS, 0, 14};
    static const struct layout tagged = {ETHERTYPE_VLAN, 0, 18};
    static const struct layout ipv4 = {ETHERTYPE_IPV4, 34, 54};
    static const struct layout ipv6 = {ETHERTYPE_IPV6, 54, 74};

    if (kind.type == VIRTIO_NET_GSO_TCPV6) {
        return &ipv6;
    }
    if (kind.type == VIRTIO_NET_GSO_TCPV4 || kind.flow != 0) {
        return &ipv4;
    }
    return kind.tagged ? &tagged : &plain;
}

uint16_t frame_headers(enum virtio_net_gso type)
{
    return layout_of((struct frame_kind){.type = type})->number;
}

uint16_t frame_transport(enum virtio_net_gso type)
{
    return layout_of((struct frame_kind){.type = type})->transport;
}

static void put16(uint8_t *at, uint32_t value)
{
    at[0] = (uint8_t)(value >> 8);
    at[1] = (uint8_t)value;
}

static uint16_t get16(const uint8_t *at)
{
    return (uint16_t)(at[0] << 8 | at[1]);
}

/* Writes the header fields that Linux and QEMU read: versions, lengths, protocol, ports, VLAN. */
static void make_headers(uint8_t *frame, uint32_t bytes, struct frame_kind kind)
{
    const struct layout *layout = layout_of(kind);
    uint8_t *ip = frame + 14;

    put16(frame + 12, layout->ethertype);
    memset(ip, 0, (size_t)layout->number - 14);
    switch (layout->ethertype) {
    case ETHERTYPE_VLAN:
        put16(frame + 14, kind.vlan);
        put16(frame + 16, ETHERTYPE_TESTS);
        break;
    case ETHERTYPE_IPV4:
        ip[0] = 0x45;
        put16(ip + 2, bytes - 14);
        ip[8] = 64;
        ip[9] = 6;
        break;
    case ETHERTYPE_IPV6:
        ip[0] = 0x60;
        put16(ip + 4, bytes - 54);
        ip[6] = 6;
        ip[7] = 64;
        break;
    default:
        break;
    }
    if (layout->transport != 0) {
        put16(frame + layout->transport, kind.flow);
        put16(frame + layout->transport + 2, kind.flow);
        frame[layout->transport + 12u] = 0x50;
    }
}

struct frame_kind frame_kind(const uint8_t *frame, bool transmit)
{
    struct frame_kind kind = {.transmit = transmit};

    switch (get16(frame + 12)) {
    case ETHERTYPE_VLAN:
        kind.tagged = true;
        kind.vlan = get16(frame + 14);
        break;
    case ETHERTYPE_IPV4:
        kind.type = VIRTIO_NET_GSO_TCPV4;
        kind.flow = frame[frame_transport(kind.type) + 1];
        break;
    case ETHERTYPE_IPV6:
        kind.type = VIRTIO_NET_GSO_TCPV6;
        break;
    default:
        break;
    }
    return kind;
}

void frame_make(uint8_t *frame, uint32_t bytes, uint32_t number, struct frame_kind kind)
{
    const struct layout *layout = layout_of(kind);

    memcpy(frame, kind.transmit ? far_address : addressed_to, 6);
    memcpy(frame + 6, kind.transmit ? station_address : far_address, 6);
    make_headers(frame, bytes, kind);
    for (uint32_t i = layout->number; i < bytes; i++) {
        frame[i] = (uint8_t)(i < layout->number + 4u ? number >> (8 * (i - layout->number))
                                                     : number * 37u + i * 11u + 1u);
    }
}

static void check_frame(const uint8_t *frame, uint32_t bytes, uint32_t number,
                        struct frame_kind kind)
{
    static uint8_t expected[STATION_FRAME_BYTES];

    assert_true(bytes >= layout_of(kind)->number && bytes <= sizeof(expected));
    frame_make(expected, bytes, number, kind);
    for (uint32_t i = 0; i < bytes; i++) {
        if (frame[i] != expected[i]) {
            fail_msg("frame %u of %u bytes differs at byte %u", number, bytes, i);
        }
    }
}

void frame_count(const uint8_t *frame, uint32_t bytes, uint32_t *next, uint32_t stale,
                 bool transmit)
{
    struct frame_kind kind = frame_kind(frame, transmit);
    uint32_t at = layout_of(kind)->number;
    uint32_t number = 0;

    for (unsigned i = 0; i < 4 && bytes >= at + 4; i++) {
        number |= (uint32_t)frame[at + i] << (8 * i);
    }
    if (number < stale) {
        check_frame(frame, bytes, number, kind);
        return;
    }
    check_frame(frame, bytes, *next, kind);
    (*next)++;
}
