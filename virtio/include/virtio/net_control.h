/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the owner can ask of a network device besides moving frames: the commands of its control
 * queue (VIRTIO 1.3, 5.1.6.5). Which of them a device knows is in virtio_net_features().
 *
 * `net` is any of the device's pairs. Thread context, outside the driver's operations, one caller
 * at a time for the whole device. Each command waits for the device's answer, at most a second.
 *
 * A device forgets all of this in a reset: after virtio_net_create() it is the owner's to say
 * again.
 */
#ifndef VIRTIO_NET_CONTROL_H
#define VIRTIO_NET_CONTROL_H

#include "virtio/net.h"

enum virtio_net_answer {
    VIRTIO_NET_DONE,
    /* Not sent: the feature was not negotiated, an argument is out of its range, or the driver does
     * not run. */
    VIRTIO_NET_NOT_SENT,
    VIRTIO_NET_REFUSED, /* VIRTIO_NET_ERR, or an answer without an answer in it */
    /*
     * The device did not answer within a second: the command stays with it, and until it is
     * answered after all, the next ones are not sent and end like this at once. Or the device broke
     * the rules of the queue: the queue was then reset (VIRTIO_F_RING_RESET) and can be used again,
     * or the device is broken (virtio_net_broken()).
     */
    VIRTIO_NET_NO_ANSWER,
};

/* Which frames to receive besides those for the device's address, its filter tables and broadcasts
 * (5.1.6.5.1). The values are the standard's. */
enum virtio_net_receive_mode {
    VIRTIO_NET_PROMISCUOUS = 0, /* this and the next: VIRTIO_NET_F_CTRL_RX */
    VIRTIO_NET_ALL_MULTICAST = 1,
    VIRTIO_NET_ALL_UNICAST = 2, /* from here on: VIRTIO_NET_F_CTRL_RX_EXTRA */
    VIRTIO_NET_NO_MULTICAST = 3,
    VIRTIO_NET_NO_UNICAST = 4,
    VIRTIO_NET_NO_BROADCAST = 5,
};

enum virtio_net_answer virtio_net_set_receive_mode(struct virtio_net *net,
                                                   enum virtio_net_receive_mode mode, bool on);

#define VIRTIO_NET_FILTER_MAX 64u /* addresses, of both kinds together */

/* Replaces the filter tables: further addresses to receive, `unicasts` of one station each, then
 * `multicasts` of groups. VIRTIO_NET_F_CTRL_RX (5.1.6.5.2). */
enum virtio_net_answer virtio_net_set_filter(struct virtio_net *net, const uint8_t (*address)[6],
                                             unsigned unicasts, unsigned multicasts);

/* The device's own address, from now on that of virtio_net_mac() too. VIRTIO_NET_F_CTRL_MAC_ADDR
 * and VIRTIO_NET_F_CTRL_RX (5.1.6.5.2). */
enum virtio_net_answer virtio_net_set_mac(struct virtio_net *net, const uint8_t mac[6]);

/* Receives frames of this VLAN, 0 to 4094, or no longer. VIRTIO_NET_F_CTRL_VLAN (5.1.6.5.3), which
 * is accepted with parameters.vlan_filter: frames of VLANs that nobody named are then dropped. */
enum virtio_net_answer virtio_net_receive_vlan(struct virtio_net *net, uint16_t vlan, bool on);

/* To be asked after virtio_net_link_changed(). True, once each: the device's network has changed
 * under it, and the owner is to announce its addresses there (gratuitous ARP). The device is told
 * that it will. VIRTIO_NET_F_GUEST_ANNOUNCE (5.1.6.5.4). */
bool virtio_net_announce_asked(struct virtio_net *net);

#endif
