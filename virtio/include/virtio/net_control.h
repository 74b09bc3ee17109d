/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The commands of a network device's control queue (VIRTIO 1.3, 5.1.6.5). virtio_net_features()
 * says which of them the device supports.
 *
 * `net` is any of the device's pairs. Thread context, not from the driver's operations, one caller
 * at a time for the whole device. Each command waits for the device's answer, at most a second, and
 * for the reset of the control queue, another second, if the device breaks it.
 *
 * A reset erases all of these settings in the device: the owner gives the commands again after
 * virtio_net_create().
 */
#ifndef VIRTIO_NET_CONTROL_H
#define VIRTIO_NET_CONTROL_H

#include "virtio/net.h"

enum virtio_net_answer {
    VIRTIO_NET_DONE,
    /* The command was not sent: the feature was not negotiated, an argument is out of range, or the
     * driver is not running. */
    VIRTIO_NET_NOT_SENT,
    VIRTIO_NET_REFUSED, /* the device answered VIRTIO_NET_ERR, or wrote no answer */
    /*
     * The device did not answer within a second. The command stays with it, and until the device
     * answers it, further commands are not sent and return this at once. Or the device broke the
     * control queue: the queue was then reset (VIRTIO_F_RING_RESET) and can be used again, or the
     * device is broken (virtio_net_broken()).
     */
    VIRTIO_NET_NO_ANSWER,
};

/* Frames to receive besides those for the device's address, those in its filter tables and
 * broadcasts (5.1.6.5.1). The values are the standard's. */
enum virtio_net_receive_mode {
    VIRTIO_NET_PROMISCUOUS = 0, /* this and the next require VIRTIO_NET_F_CTRL_RX */
    VIRTIO_NET_ALL_MULTICAST = 1,
    VIRTIO_NET_ALL_UNICAST = 2, /* this and the following require VIRTIO_NET_F_CTRL_RX_EXTRA */
    VIRTIO_NET_NO_MULTICAST = 3,
    VIRTIO_NET_NO_UNICAST = 4,
    VIRTIO_NET_NO_BROADCAST = 5,
};

enum virtio_net_answer virtio_net_set_receive_mode(struct virtio_net *net,
                                                   enum virtio_net_receive_mode mode, bool on);

#define VIRTIO_NET_FILTER_MAX 64u /* addresses, of both kinds together */

/* Replaces the filter tables by the addresses in `address`: first `unicasts` of stations, then
 * `multicasts` of groups, together at most VIRTIO_NET_FILTER_MAX. Requires VIRTIO_NET_F_CTRL_RX
 * (5.1.6.5.2). */
enum virtio_net_answer virtio_net_set_filter(struct virtio_net *net, const uint8_t (*address)[6],
                                             unsigned unicasts, unsigned multicasts);

/* Sets the device's own address, which virtio_net_mac() then returns. Requires
 * VIRTIO_NET_F_CTRL_MAC_ADDR and VIRTIO_NET_F_CTRL_RX (5.1.6.5.2). */
enum virtio_net_answer virtio_net_set_mac(struct virtio_net *net, const uint8_t mac[6]);

/* Starts or stops receiving frames of a VLAN, 0 to 4094. Requires VIRTIO_NET_F_CTRL_VLAN
 * (5.1.6.5.3), which is accepted with parameters.vlan_filter: the device then drops frames of all
 * other VLANs. */
enum virtio_net_answer virtio_net_receive_vlan(struct virtio_net *net, uint16_t vlan, bool on);

/* Call it after virtio_net_link_changed(). Returns true, once for each request, if the device asks
 * the owner to announce its addresses on the network (gratuitous ARP), and acknowledges the
 * request. Requires VIRTIO_NET_F_GUEST_ANNOUNCE (5.1.6.5.4). */
bool virtio_net_announce_asked(struct virtio_net *net);

#endif
