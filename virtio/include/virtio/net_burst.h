/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The network driver for a thread that polls: created with parameters.polling, and then used by
 * this thread alone, through the functions here. No interrupt is asked for, no lock taken, nothing
 * queued; frames go in and out in bursts, each in one buffer, without offloads.
 *
 * A buffer serves both directions: with its header and frame at `memory`, one that was received can
 * be transmitted as it is. So a forwarder is
 *     n = virtio_net_receive_burst(net, buffers, 32);
 *     n -= virtio_net_transmit_burst(net, buffers, n);         (what is left stays the caller's)
 *     m = virtio_net_transmitted_burst(net, buffers, 32);
 *     virtio_net_expose_burst(net, buffers, m);
 * After virtio_net_create() nothing is exposed yet. virtio_net_stop() gives back all buffers of
 * both directions by return_buffer(); receive_buffer() and signal() are not called.
 *
 * The counters of virtio_net_statistics() are kept.
 */
#ifndef VIRTIO_NET_BURST_H
#define VIRTIO_NET_BURST_H

#include "virtio/net.h"

#define VIRTIO_NET_BURST_MAX 32u /* buffers; of a longer burst only so many are looked at */

/* Frames received, in order; how many. */
unsigned virtio_net_receive_burst(struct virtio_net *net, struct virtio_net_buffer **buffers,
                                  unsigned count);
/* Gives the device buffers to receive into; how many it took. All but those that are smaller than
 * parameters.receive_bytes, up to the first that finds no room. */
unsigned virtio_net_expose_burst(struct virtio_net *net, struct virtio_net_buffer *const *buffers,
                                 unsigned count);
/*
 * Transmits frames of frame_bytes at memory + VIRTIO_NET_HEADER_BYTES, and notifies the device if
 * it wants that; how many. Fewer: the ring is full, or the next frame is shorter than 14 bytes or
 * longer than virtio_net_mtu(), its Ethernet header, and a VLAN tag if it has one.
 */
unsigned virtio_net_transmit_burst(struct virtio_net *net, struct virtio_net_buffer *const *buffers,
                                   unsigned count);
/* Buffers whose frames have been sent; how many. */
unsigned virtio_net_transmitted_burst(struct virtio_net *net, struct virtio_net_buffer **buffers,
                                      unsigned count);

#endif
