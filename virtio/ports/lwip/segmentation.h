/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Transmit segmentation: TCP segments that lwIP sends one after the other leave as one frame, which
 * the device cuts again (VIRTIO 1.3, 5.1.6.2, HOST_TSO4 and HOST_TSO6). The host or the network
 * card then handles one large packet instead of dozens. Nothing waits for it: a frame that is held
 * goes out before the network's lock is released. What arrives at the peer is what would have
 * arrived without, but for PSH, which only the last segment of a frame carries.
 */
#ifndef VIRTIO_PORT_SEGMENTATION_H
#define VIRTIO_PORT_SEGMENTATION_H

#include "tcp_segment.h"
#include "virtio/net.h"
#include <stdbool.h>
#include <stdint.h>

struct segmentation {
    struct virtio_net_packet *held; /* first packet of the frame, or NULL */
    struct virtio_net_packet *last; /* and the last */
    struct tcp_segment segment;     /* the first one's */
    uint32_t data_bytes;            /* in all */
    uint16_t pieces;
    bool pushed;
    bool short_end;  /* its last segment is shorter than the first: nothing may follow */
    uint64_t joined; /* segments that were joined to another */
};

/* `packet` describes a whole frame. True: it has become part of the one that is held. */
bool segmentation_join(struct segmentation *segmentation, const struct virtio_net *net,
                       struct virtio_net_packet *packet);

/* True: it is held from now on, for others to be joined to it. Only while none is. */
bool segmentation_hold(struct segmentation *segmentation, const struct virtio_net *net,
                       struct virtio_net_packet *packet);

/* The frame that was held, or NULL. Its headers are those of one large segment, but for the TCP
 * checksum; gso_type says whether the device has to cut it. */
struct virtio_net_packet *segmentation_take(struct segmentation *segmentation);

#endif
