/* SPDX-License-Identifier: BSD-2-Clause */
/* The frames that a station and its far end exchange: headers, a number, and what follows from the
 * number and the position. */
#ifndef TESTS_DEVICE_FRAMES_H
#define TESTS_DEVICE_FRAMES_H

#include "virtio/net.h"
#include <stdbool.h>
#include <stdint.h>

/* To whom the far end sends: 6 bytes; NULL: the station's own address. Nothing may be under way. */
void frame_address_to(const uint8_t *address);

/* Of the Ethernet, IP and TCP headers of a TCP segment; and where TCP begins. */
uint16_t frame_headers(enum virtio_net_gso type);
uint16_t frame_transport(enum virtio_net_gso type);

struct frame_kind {
    bool transmit;            /* from the station, else from the far end */
    enum virtio_net_gso type; /* whose headers it has */
    uint8_t flow;             /* > 0: it has TCP's headers, and this is in both ports */
    bool tagged;              /* for `vlan`; else it has no such tag */
    uint16_t vlan;
};

void frame_make(uint8_t *frame, uint32_t bytes, uint32_t number, struct frame_kind kind);

/* What it says of itself, when it comes from the station (`transmit`) or the far end. */
struct frame_kind frame_kind(const uint8_t *frame, bool transmit);

/* Checks a frame that should be number *next and counts it; one older than `stale` may come, too.
 */
void frame_count(const uint8_t *frame, uint32_t bytes, uint32_t *next, uint32_t stale,
                 bool transmit);

#endif
