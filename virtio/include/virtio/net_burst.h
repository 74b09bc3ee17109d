/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The network driver for a thread that polls: created with parameters.polling, and then used by one
 * thread, through the functions here. The driver enables no interrupt, takes no lock and has no
 * queues of its own. Frames are moved in bursts, each frame in one buffer, without offloads.
 *
 * Buffers are the same for both directions: a received buffer, with header and frame at `memory`,
 * can be transmitted without a change. So a forwarder executes these four calls in a loop:
 *
 *     n = virtio_net_receive_burst(net, buffers, 32);
 *     sent = virtio_net_transmit_burst(net, buffers, n);  (the caller keeps the other n - sent)
 *     m = virtio_net_transmitted_burst(net, buffers, 32);
 *     virtio_net_expose_burst(net, buffers, m);
 *
 * After virtio_net_create() no buffer is exposed yet. virtio_net_stop() returns all buffers of both
 * directions by return_buffer(). The driver does not call receive_buffer() and signal().
 *
 * virtio_net_statistics() works as without polling. Thread context.
 */
#ifndef VIRTIO_NET_BURST_H
#define VIRTIO_NET_BURST_H

#include "virtio/net.h"

#define VIRTIO_NET_BURST_MAX 32u /* buffers; the rest of a longer burst is left */

/* Stores up to `count` received frames in `buffers`, in order. Returns their number. */
unsigned virtio_net_receive_burst(struct virtio_net *net, struct virtio_net_buffer **buffers,
                                  unsigned count);
/* Exposes receive buffers to the device. Stops at the first that is smaller than
 * parameters.receive_bytes or has no room in the ring. Returns the number of buffers exposed. */
unsigned virtio_net_expose_burst(struct virtio_net *net, struct virtio_net_buffer *const *buffers,
                                 unsigned count);
/*
 * Transmits frames of frame_bytes at memory + VIRTIO_NET_HEADER_BYTES, and notifies the device if
 * it wants that. Returns their number, which is less than `count` if the ring is full, or the next
 * frame is shorter than 14 bytes or longer than virtio_net_mtu(), its Ethernet header, and a VLAN
 * tag if it has one.
 */
unsigned virtio_net_transmit_burst(struct virtio_net *net, struct virtio_net_buffer *const *buffers,
                                   unsigned count);
/* Stores up to `count` buffers in `buffers` whose frames the device has sent. Returns their number.
 */
unsigned virtio_net_transmitted_burst(struct virtio_net *net, struct virtio_net_buffer **buffers,
                                      unsigned count);

#endif
