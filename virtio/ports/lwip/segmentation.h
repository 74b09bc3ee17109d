/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Transmit segmentation offload. Joins TCP segments that lwIP sends one after the other to one
 * frame, which the device segments again (VIRTIO 1.3, 5.1.6.2, HOST_TSO4 and HOST_TSO6). The host
 * or the network card then handles one large packet instead of dozens. No frame is delayed: a frame
 * that is held is sent before the network lock is released. The peer receives the same segments as
 * without joining, except that only the last segment of a frame has PSH set.
 */
#ifndef VIRTIO_PORT_SEGMENTATION_H
#define VIRTIO_PORT_SEGMENTATION_H

#include "tcp_segment.h"
#include "virtio/net.h"
#include <stdbool.h>
#include <stdint.h>

struct segmentation {
    struct virtio_net_packet *held; /* first packet of the frame, or NULL */
    struct virtio_net_packet *last; /* last packet of the frame */
    struct tcp_segment segment;     /* the first of the joined segments */
    uint32_t data_bytes;            /* data of all joined segments */
    uint16_t pieces;
    bool pushed;
    bool short_end;  /* the last segment is shorter than the first, so no other may follow */
    uint64_t joined; /* number of segments joined to another */
};

/* `packet` describes a whole frame. Returns true if it was joined to the frame that is held. */
bool segmentation_join(struct segmentation *segmentation, const struct virtio_net *net,
                       struct virtio_net_packet *packet);

/* Returns true if the packet is held from now on, so that others can be joined to it. Only while no
 * frame is held. */
bool segmentation_hold(struct segmentation *segmentation, const struct virtio_net *net,
                       struct virtio_net_packet *packet);

/* Returns the frame that is held and releases it; NULL if there is none. Its headers are those of
 * one large segment, except for the TCP checksum; gso_type says whether the device has to segment
 * it. */
struct virtio_net_packet *segmentation_take(struct segmentation *segmentation);

#endif
