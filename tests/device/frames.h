/* SPDX-License-Identifier: BSD-2-Clause */
/* Frames between a station and its far end. They contain headers, a number, and a pattern computed
 * from the number and the position. */
#ifndef TESTS_DEVICE_FRAMES_H
#define TESTS_DEVICE_FRAMES_H

#include "virtio/net.h"
#include <stdbool.h>
#include <stdint.h>

/* Sets the destination of frames from the far end: 6 bytes, NULL for the station's own address. No
 * frame may be under way. */
void frame_address_to(const uint8_t *address);

/* Length of the Ethernet, IP and TCP headers of a TCP segment, and the offset of its TCP header. */
uint16_t frame_headers(enum virtio_net_gso type);
uint16_t frame_transport(enum virtio_net_gso type);

struct frame_kind {
    bool transmit;            /* sent by the station, else by the far end */
    enum virtio_net_gso type; /* type of segmentation that the headers belong to */
    uint8_t flow;             /* 0, or the number in both ports of its TCP header */
    bool tagged;              /* the frame has a tag for `vlan` */
    uint16_t vlan;
};

void frame_make(uint8_t *frame, uint32_t bytes, uint32_t number, struct frame_kind kind);

/* Returns the number in a frame from the station (`transmit`) or from the far end. */
struct frame_kind frame_kind(const uint8_t *frame, bool transmit);

/* Checks that a frame has number *next, and adds 1 to *next. Numbers below `stale` are also
 * accepted. */
void frame_count(const uint8_t *frame, uint32_t bytes, uint32_t *next, uint32_t stale,
                 bool transmit);

#endif
