/* SPDX-License-Identifier: BSD-2-Clause */
/* See frames.h. */
#include "frames.h"
#include "station.h"
#include <string.h>

#define ETHERTYPE_TESTS 0x88b5u /* for local experiments (IEEE 802) */

static const uint8_t station_address[6] = {0x52, 0x54, 0x00, 0x12, 0x34, 0x56};
static const uint8_t far_address[6] = {0x52, 0x54, 0x00, 0xab, 0xcd, 0xef};

static const uint8_t *addressed_to = station_address;

void frame_address_to(const uint8_t *address)
{
    addressed_to = address != NULL ? address : station_address;
}

/* By the kind of frame: a plain one, or one with headers of IP and TCP. */
struct layout {
    uint16_t ethertype;
    uint16_t transport; /* where TCP begins */
    uint16_t number;    /* where the number stands */
};

static const struct layout *layout_of(enum virtio_net_gso type)
{
    static const struct layout plain = {ETHERTYPE_TESTS, 0, 14};
    static const struct layout ipv4 = {0x0800, 34, 54};
    static const struct layout ipv6 = {0x86dd, 54, 74};

    return type == VIRTIO_NET_GSO_TCPV4 ? &ipv4 : type == VIRTIO_NET_GSO_TCPV6 ? &ipv6 : &plain;
}

uint16_t frame_headers(enum virtio_net_gso type)
{
    return layout_of(type)->number;
}

uint16_t frame_transport(enum virtio_net_gso type)
{
    return layout_of(type)->transport;
}

/* As much of the headers as Linux looks at: versions, lengths, protocol. */
static void make_headers(uint8_t *frame, uint32_t bytes, enum virtio_net_gso type)
{
    const struct layout *layout = layout_of(type);
    uint8_t *ip = frame + 14;
    uint32_t length;

    memset(ip, 0, (size_t)layout->number - 14);
    if (type == VIRTIO_NET_GSO_TCPV4) {
        length = bytes - 14;
        ip[0] = 0x45;
        ip[2] = (uint8_t)(length >> 8);
        ip[3] = (uint8_t)length;
        ip[8] = 64;
        ip[9] = 6;
    } else if (type == VIRTIO_NET_GSO_TCPV6) {
        length = bytes - 54;
        ip[0] = 0x60;
        ip[4] = (uint8_t)(length >> 8);
        ip[5] = (uint8_t)length;
        ip[6] = 6;
        ip[7] = 64;
    }
    if (layout->transport != 0) {
        frame[layout->transport + 12u] = 0x50;
    }
}

void frame_make(uint8_t *frame, uint32_t bytes, uint32_t number, bool transmit,
                enum virtio_net_gso type)
{
    const struct layout *layout = layout_of(type);

    memcpy(frame, transmit ? far_address : addressed_to, 6);
    memcpy(frame + 6, transmit ? station_address : far_address, 6);
    frame[12] = (uint8_t)(layout->ethertype >> 8);
    frame[13] = (uint8_t)layout->ethertype;
    make_headers(frame, bytes, type);
    for (uint32_t i = layout->number; i < bytes; i++) {
        frame[i] = (uint8_t)(i < layout->number + 4u ? number >> (8 * (i - layout->number))
                                                     : number * 37u + i * 11u + 1u);
    }
}

static void check_frame(const uint8_t *frame, uint32_t bytes, uint32_t number, bool transmit,
                        enum virtio_net_gso type)
{
    static uint8_t expected[STATION_FRAME_BYTES];

    assert_true(bytes >= layout_of(type)->number && bytes <= sizeof(expected));
    frame_make(expected, bytes, number, transmit, type);
    for (uint32_t i = 0; i < bytes; i++) {
        if (frame[i] != expected[i]) {
            fail_msg("frame %u of %u bytes differs at byte %u", number, bytes, i);
        }
    }
}

void frame_count(const uint8_t *frame, uint32_t bytes, uint32_t *next, uint32_t stale,
                 bool transmit)
{
    enum virtio_net_gso type = frame[12] == 0x08   ? VIRTIO_NET_GSO_TCPV4
                               : frame[12] == 0x86 ? VIRTIO_NET_GSO_TCPV6
                                                   : VIRTIO_NET_GSO_NONE;
    uint32_t at = layout_of(type)->number;
    uint32_t number = 0;

    for (unsigned i = 0; i < 4 && bytes >= at + 4; i++) {
        number |= (uint32_t)frame[at + i] << (8 * i);
    }
    if (number < stale) {
        check_frame(frame, bytes, number, transmit, type);
        return;
    }
    check_frame(frame, bytes, *next, transmit, type);
    (*next)++;
}
