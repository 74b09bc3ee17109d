/* SPDX-License-Identifier: BSD-2-Clause */
/* What the owner can ask the network driver. */
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

bool virtio_net_offers_gso(const struct virtio_net *net, enum virtio_net_gso type)
{
    return (type == VIRTIO_NET_GSO_TCPV4 && (net->features & VIRTIO_NET_F_HOST_TSO4) != 0) ||
           (type == VIRTIO_NET_GSO_TCPV6 && (net->features & VIRTIO_NET_F_HOST_TSO6) != 0);
}

uint16_t virtio_net_segments_max(const struct virtio_net *net)
{
    return net->segments_max;
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

/* A device can have lost sight of its transmit queues without a link: QEMU 10.0 asks not to be
 * notified then, and with a packed queue never asks again. One notification too many does no harm
 * (2.8.16). */
static void link_came_up(struct net_device *device)
{
    virtio_lock_state state = virtio_platform_lock();

    for (uint16_t i = 0; i < device->pairs; i++) {
        struct virtio_net *net = &device->pair[i];

        if (net->state == NET_RUNNING && !net->parameters.polling) {
            net->transmit.notifications++;
            net->transport->operations->notify(net->transport, &net->transmit.notification);
        }
    }
    net_leave(device->pair, state);
}

bool virtio_net_link_up(struct virtio_net *net)
{
    bool was_up = net->device->link_up;
    uint32_t status;

    /* A configuration that can't be read consistently leaves the last answer standing. */
    if (net->state == NET_RUNNING) {
        (void)net_read_status(net, &status);
    }
    if (net->device->link_up && !was_up) {
        link_came_up(net->device);
    }
    return net->device->link_up;
}

uint32_t virtio_net_speed(const struct virtio_net *net, bool *full_duplex)
{
    struct virtio_config_field field[2] = {{.offset = CONFIG_SPEED, .bytes = 4},
                                           {.offset = CONFIG_DUPLEX, .bytes = 1}};

    if ((net->features & VIRTIO_NET_F_SPEED_DUPLEX) == 0 || net->state != NET_RUNNING ||
        !virtio_transport_read_config(net->transport, field, 2) || field[0].value > SPEED_MAX) {
        return 0;
    }
    *full_duplex = field[1].value == DUPLEX_FULL;
    return field[0].value;
}

struct virtio_net *virtio_net_pair(struct virtio_net *net, unsigned index)
{
    return index < net->device->pairs ? &net->device->pair[index] : NULL;
}

void virtio_net_watch(struct virtio_net *net)
{
    const char *trouble;
    virtio_lock_state state;

    if (net->state != NET_RUNNING) {
        return;
    }
    /* Without the lock: a transport may take its time to answer. */
    trouble = net_trouble(net);
    state = virtio_platform_lock();
    if (trouble != NULL && net->state == NET_RUNNING) {
        net_stop_broken(net, trouble);
    }
    net_leave(net, state);
}

bool virtio_net_link_changed(struct virtio_net *net)
{
    virtio_lock_state state = virtio_platform_lock();
    bool changed = net->link_changed;

    net->link_changed = false;
    net_leave(net, state);
    /* 2.1.2: a device that gives up says so in its status, with this same kind of interrupt. */
    if (changed) {
        virtio_net_watch(net);
    }
    return changed;
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
    net_leave(net, state);
}
