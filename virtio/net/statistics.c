/* SPDX-License-Identifier: BSD-2-Clause */
/* The properties of a network device and the counters of its driver. */
#include "net_private.h"
#include <string.h>

bool virtio_net_mac(const struct virtio_net *net, uint8_t mac[6])
{
    if (net->device->has_mac) {
        memcpy(mac, net->device->mac, 6);
    }
    return net->device->has_mac;
}

uint16_t virtio_net_mtu(const struct virtio_net *net)
{
    return net->mtu;
}

const char *virtio_net_mtu_unused(const struct virtio_net *net, uint16_t *offered)
{
    *offered = net->device->mtu_offered;
    return net->device->mtu_unused;
}

bool virtio_net_offers_gso(const struct virtio_net *net, enum virtio_net_gso type)
{
    return (type == VIRTIO_NET_GSO_TCPV4 && (net->features & VIRTIO_NET_F_HOST_TSO4) != 0) ||
           (type == VIRTIO_NET_GSO_TCPV6 && (net->features & VIRTIO_NET_F_HOST_TSO6) != 0);
}

uint16_t virtio_net_segments_max(const struct virtio_net *net)
{
    return net->segments_max;
}

bool virtio_net_interrupt_traps(const struct virtio_net *net)
{
    return net->transport->registers_trap;
}

uint64_t virtio_net_moved_bytes(const struct virtio_net *net)
{
    return net->statistics.rx_bytes + net->statistics.tx_bytes;
}

uint64_t virtio_net_features(const struct virtio_net *net)
{
    return net->features;
}

const char *virtio_net_broken(const struct virtio_net *net)
{
    return net->device->broken;
}

uint16_t virtio_net_receive_target(const struct virtio_net *net)
{
    return net->exposed_target;
}

struct virtio_net *virtio_net_pair(struct virtio_net *net, unsigned index)
{
    return index < net->device->pairs ? &net->device->pair[index] : NULL;
}

void virtio_net_statistics(struct virtio_net *net, struct virtio_net_statistics *statistics)
{
    virtio_lock_state state = virtio_platform_lock();

    *statistics = net->statistics;
    statistics->rx_exposed = virtqueue_in_flight(&net->receive.ring);
    statistics->rx_target = net->exposed_target;
    statistics->rx_queued = net->received.count + net->fetched.count;
    if (net->merging != NULL) {
        statistics->rx_queued += (uint16_t)(net->merging->buffers - net->merge_left);
    }
    statistics->rx_buffers_returned += net->delivered;
    statistics->tx_in_flight = virtqueue_in_flight(&net->transmit.ring);
    statistics->tx_queued = net->waiting.count;
    statistics->tx_finished = net->transmitted.count;
    statistics->notifications_rx = net->receive.notifications;
    statistics->notifications_tx = net->transmit.notifications;
    net_unlock(net, state);
}
