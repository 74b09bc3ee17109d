/* SPDX-License-Identifier: BSD-2-Clause */
/* What the driver and the device agree on (VIRTIO 1.3, 3.1.1 steps 4 to 6), and what the device's
 * configuration says (5.1.4). */
#include "net_private.h"
#include <string.h>

#define MTU_MIN 68u /* 5.1.4.1 */

/*
 * What the driver can use. ACCESS_PLATFORM: every address given to a device comes from the platform
 * (virtio_platform_dma_address() and _allocate()), which is what the feature asks for (6).
 */
#define FEATURES_KNOWN                                                                             \
    (VIRTIO_F_VERSION_1 | VIRTIO_F_EVENT_IDX | VIRTIO_F_INDIRECT_DESC | VIRTIO_F_ACCESS_PLATFORM | \
     VIRTIO_F_RING_PACKED | VIRTIO_F_IN_ORDER | VIRTIO_F_ORDER_PLATFORM | VIRTIO_NET_F_MAC |       \
     VIRTIO_NET_F_MTU | VIRTIO_NET_F_STATUS | VIRTIO_NET_F_CSUM | VIRTIO_NET_F_GUEST_CSUM |        \
     VIRTIO_NET_F_HOST_TSO4 | VIRTIO_NET_F_HOST_TSO6 | VIRTIO_NET_F_GUEST_TSO4 |                   \
     VIRTIO_NET_F_GUEST_TSO6 | VIRTIO_NET_F_MRG_RXBUF)

/* Of no use to a driver that polls: it sends no chains, receives none, asks for no interrupt, and
 * leaves it to a flag whether the device wants to be notified. */
#define FEATURES_WAITING \
    (VIRTIO_F_EVENT_IDX | VIRTIO_F_INDIRECT_DESC | VIRTIO_NET_F_CSUM | VIRTIO_NET_F_MRG_RXBUF)

/*
 * 5.1.4.2: who accepts VIRTIO_NET_F_MTU must have room to receive frames of that size. Reading the
 * field before the decision is allowed (3.1.1 step 4).
 */
static bool mtu_acceptable(struct virtio_net *net, uint64_t offered)
{
    struct virtio_config_field mtu = {.offset = CONFIG_MTU, .bytes = 2};

    return (offered & VIRTIO_NET_F_MTU) != 0 &&
           virtio_transport_read_config(net->transport, &mtu, 1) && mtu.value >= MTU_MIN &&
           mtu.value + ETHERNET_HEADER_BYTES + VIRTIO_NET_HEADER_BYTES <= net->receive_bytes;
}

/* See VIRTIO_NET_LARGE_RECEIVE_BYTES. */
static bool room_for_large_frames(struct virtio_net *net)
{
    uint16_t limit = net->transport->operations->queue_size_max(net->transport, 0);
    uint32_t ring = net_ring_size(net->exposed_max, limit);
    uint32_t buffers = net->exposed_min < ring ? net->exposed_min : ring;

    return buffers * net->receive_bytes >= VIRTIO_NET_LARGE_RECEIVE_BYTES;
}

/* 5.1.6: num_buffers came with VERSION_1 or MRG_RXBUF; and before VERSION_1 the header is to be
 * alone in its descriptor, unless the device accepts any layout (2.7.4.3). */
static void choose_header(struct virtio_net *net)
{
    if ((net->features & (VIRTIO_F_VERSION_1 | VIRTIO_NET_F_MRG_RXBUF)) == 0) {
        net->header_bytes = offsetof(struct net_header, buffers);
    } else {
        net->header_bytes = sizeof(struct net_header);
    }
    net->header_alone = (net->features & (VIRTIO_F_VERSION_1 | VIRTIO_F_ANY_LAYOUT)) == 0;
}

bool net_negotiate(struct virtio_net *net, const char **reason)
{
    uint64_t offered = net->transport->operations->device_features(net->transport);
    uint64_t known = net->polling ? FEATURES_KNOWN & ~FEATURES_WAITING : FEATURES_KNOWN;
    uint64_t wanted =
        (known | (net->transport->legacy ? VIRTIO_F_ANY_LAYOUT : 0)) & ~net->device->features_off;

    if ((wanted & VIRTIO_NET_F_MTU) != 0 && !mtu_acceptable(net, offered)) {
        wanted &= ~VIRTIO_NET_F_MTU;
    }
    /* 5.1.3.1: segmentation requires the checksum, and 3.1.1 forbids to accept it without. */
    if ((wanted & offered & VIRTIO_NET_F_CSUM) == 0) {
        wanted &= ~(VIRTIO_NET_F_HOST_TSO4 | VIRTIO_NET_F_HOST_TSO6);
    }
    if ((wanted & offered & VIRTIO_NET_F_MRG_RXBUF) != 0 && !room_for_large_frames(net)) {
        wanted &= ~VIRTIO_NET_F_MRG_RXBUF;
    }
    /* Large frames are taken in several buffers; 5.1.6.3.1 would also allow large buffers. */
    if ((wanted & offered & VIRTIO_NET_F_GUEST_CSUM) == 0 ||
        (wanted & offered & VIRTIO_NET_F_MRG_RXBUF) == 0) {
        wanted &= ~(VIRTIO_NET_F_GUEST_TSO4 | VIRTIO_NET_F_GUEST_TSO6);
    }
    if (!virtio_transport_negotiate(net->transport, wanted, &net->features, reason)) {
        return false;
    }
    choose_header(net);
    *reason = "a driver that polls needs a device that is not a legacy one";
    return !net->polling || (net->features & VIRTIO_F_VERSION_1) != 0;
}

static bool read_mac(struct virtio_net *net)
{
    struct virtio_config_field field[6];

    for (unsigned i = 0; i < 6; i++) {
        field[i] = (struct virtio_config_field){.offset = (uint16_t)(CONFIG_MAC + i), .bytes = 1};
    }
    if (!virtio_transport_read_config(net->transport, field, 6)) {
        return false;
    }
    for (unsigned i = 0; i < 6; i++) {
        net->device->mac[i] = (uint8_t)field[i].value;
    }
    /* A group address, or none at all, is no station's. */
    net->device->has_mac =
        (net->device->mac[0] & 1u) == 0 && memcmp(net->device->mac, (uint8_t[6]){0}, 6) != 0;
    return true;
}

bool net_read_configuration(struct virtio_net *net, const char **reason)
{
    struct virtio_config_field mtu = {.offset = CONFIG_MTU, .bytes = 2};
    struct virtio_config_field status = {.offset = CONFIG_STATUS, .bytes = 2};
    struct virtio_transport *transport = net->transport;

    *reason = "the device's configuration is too short, or never stands still";
    if ((net->features & VIRTIO_NET_F_MAC) != 0 && !read_mac(net)) {
        return false;
    }
    if ((net->features & VIRTIO_NET_F_STATUS) != 0) {
        if (!virtio_transport_read_config(transport, &status, 1)) {
            return false;
        }
        net->device->link_up = (status.value & STATUS_LINK_UP) != 0;
    }
    if ((net->features & VIRTIO_NET_F_MTU) != 0) {
        if (!virtio_transport_read_config(transport, &mtu, 1)) {
            return false;
        }
        /* It can have changed since it was looked at; what matters is that its frames fit. */
        if (mtu.value < MTU_MIN ||
            mtu.value + ETHERNET_HEADER_BYTES + VIRTIO_NET_HEADER_BYTES > net->receive_bytes) {
            *reason = "the device changed its MTU to one that can't be served";
            return false;
        }
        net->mtu = (uint16_t)mtu.value;
    }
    return true;
}
