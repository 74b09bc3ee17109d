/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The card of this back-end: a tap interface, which the administrator connects with the world, for
 * example by a bridge with a network card. Frames have the header of virtio
 * (Linux: Documentation/networking/tuntap), so neither side computes checksums of frames that stay
 * in this machine, and clients may send frames of several TCP segments.
 */
#ifndef BACKEND_LINUX_TAP_H
#define BACKEND_LINUX_TAP_H

#include "backend/network.h"
#include <linux/virtio_net.h>
#include <net/if.h>
#include <stdbool.h>
#include <stdint.h>

struct tap {
    char name[IFNAMSIZ];
    int file;
    int events;      /* readable if the state of an interface of this Linux may have changed */
    bool is_up;      /* see tap_look() */
    bool is_passing; /* the received frame is not done: network_receive_more() */
    struct device_segment segment;
    struct {
        struct virtio_net_hdr header;
        uint8_t frame[DEVICE_NET_FRAME_MAX];
    } received;
};

/* Opens the interface, and creates it if it does not exist. It stays when the program ends, so that
 * a bridge keeps it. Returns false with a problem. */
bool tap_open(struct tap *tap, const char *name, char *problem);

/* Reads again whether the interface is up and has a carrier: sets tap->is_up. */
void tap_look(struct tap *tap);

/* Passes frames from the interface on, in at most `limit` steps: a frame, or a part of one that a
 * client does not take whole. */
void tap_receive(struct tap *tap, unsigned limit, struct network *network);

/* Sends a frame. Returns false if the interface does not take it. */
bool tap_send(const struct tap *tap, const struct device_net_frame *frame);

#endif
