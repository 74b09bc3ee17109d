/* SPDX-License-Identifier: BSD-2-Clause */
/* The state, the changes and the speed of a network device's link (VIRTIO 1.3, 5.1.4). */
#include "net_private.h"

/* Notifies all transmit queues. QEMU 10.0 suppresses notifications while there is no link, and with
 * a packed queue never enables them again. A superfluous notification does no harm (2.8.16). */
static void notify_transmit_queues(struct net_device *device)
{
    virtio_lock_state state = virtio_platform_lock();

    for (uint16_t i = 0; i < device->pairs; i++) {
        struct virtio_net *net = &device->pair[i];

        if (net->state == NET_RUNNING && !net->parameters.polling) {
            net->transmit.notifications++;
            net->transport->operations->notify(net->transport, &net->transmit.notification);
        }
    }
    net_unlock(device->pair, state);
}

bool virtio_net_link_up(struct virtio_net *net)
{
    bool was_up = net->device->link_up;
    uint32_t status;

    /* If the configuration can't be read consistently, the last state stays valid. */
    if (net->state == NET_RUNNING) {
        (void)net_read_status(net, &status);
    }
    if (net->device->link_up && !was_up) {
        notify_transmit_queues(net->device);
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

bool virtio_net_link_changed(struct virtio_net *net)
{
    virtio_lock_state state = virtio_platform_lock();
    bool changed = net->link_changed;

    net->link_changed = false;
    net_unlock(net, state);
    /* 2.1.2: a device that needs a reset announces that by the same interrupt. */
    if (changed) {
        virtio_net_watch(net);
    }
    return changed;
}
