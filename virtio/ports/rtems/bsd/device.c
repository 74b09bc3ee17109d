/* SPDX-License-Identifier: BSD-2-Clause */
/* Start and stop of the device, and its link. */
#include "bsdnet_private.h"
#include "virtio/net_control.h"
#include <rtems/bspIo.h>

static const struct virtio_net_operations operations = {
    .receive_buffer = receive_take,
    .return_buffer = receive_return,
    .signal = bottom_half_wake,
};

/* Announces the interface's addresses. The device asks for this. */
static void announce(struct virtio_bsdnet *interface)
{
    struct ifaddr *address = interface->arpcom.ac_if.if_addrlist;

    for (; address != NULL; address = address->ifa_next) {
        if (address->ifa_addr->sa_family == AF_INET) {
            arp_ifinit(&interface->arpcom, address);
        }
    }
}

/* Without a link the interface does not run, so that senders get an error at once. */
static void set_link(struct ifnet *ifp, bool up)
{
    if (up != ((ifp->if_flags & IFF_RUNNING) != 0)) {
        ifp->if_flags ^= IFF_RUNNING;
        printk("vtn%d: link %s\n", ifp->if_unit, up ? "up" : "down");
    }
}

void device_update_link(struct virtio_bsdnet *interface)
{
    bool up = virtio_net_link_up(interface->net);

    set_link(&interface->arpcom.ac_if, up);
    if (up && virtio_net_announce_asked(interface->net)) {
        announce(interface);
    }
}

/* Handles and acknowledges what arrived before the interrupt was connected. An edge-triggered line
 * that is already high would never rise again. */
static void handle_earlier_interrupts(struct virtio_bsdnet *interface)
{
    uint64_t state = virtio_platform_lock();

    (void)virtio_net_interrupt(interface->net);
    virtio_platform_unlock(state);
    bottom_half_wake(interface);
}

static struct virtio_net *create_driver(struct virtio_bsdnet *interface, const char **reason)
{
    struct virtio_net *net;

    *reason = "it is gone";
    if (!virtio_network_restore(&interface->device) ||
        !virtio_network_probe(&interface->device, reason)) {
        return NULL;
    }
    receive_fill(interface, interface->parameters.rx_buffers);
    net = virtio_net_create(interface->device.transport, &interface->parameters, &operations,
                            interface, reason);
    if (net != NULL && !virtio_network_connect(&interface->device, net)) {
        *reason = "its interrupt cannot be attached";
        if (virtio_net_stop(net)) {
            virtio_net_free(net);
        }
        net = NULL;
    }
    return net;
}

/* If no address is configured, uses the device's, or generates one from the time. */
static void adopt_address(struct virtio_bsdnet *interface)
{
    static const uint8_t none[ETHER_ADDR_LEN];
    uint8_t *address = interface->arpcom.ac_enaddr;
    uint64_t now = virtio_platform_now();

    if (memcmp(address, none, sizeof(none)) == 0 && !virtio_net_mac(interface->net, address)) {
        memcpy(address, &now, sizeof(none));
        address[0] = 0x02; /* a unicast, locally administered address */
    }
}

bool device_start(struct virtio_bsdnet *interface)
{
    const char *reason = "it does not confirm a reset";

    if (interface->running) {
        return true;
    }
    if (interface->net == NULL || device_stop(interface)) {
        interface->net = create_driver(interface, &reason);
        interface->running = interface->net != NULL;
    }
    if (!interface->running) {
        if (reason != interface->reported) {
            printk("vtn: the device cannot be started: %s\n",
                   reason == NULL ? "it is another one" : reason);
        }
        interface->reported = reason;
        return false;
    }
    interface->reported = NULL;
    interface->started = virtio_platform_now();
    adopt_address(interface);
    control_filter(interface);
    device_update_link(interface);
    handle_earlier_interrupts(interface);
    return true;
}

bool device_stop(struct virtio_bsdnet *interface)
{
    interface->running = false;
    set_link(&interface->arpcom.ac_if, false);
    interface->arpcom.ac_if.if_flags &= ~IFF_OACTIVE;
    (void)virtio_network_connect(&interface->device, NULL);
    /* The device owns its buffers until it confirms a reset (VIRTIO 1.3, 2.4.1). */
    if (!virtio_network_restore(&interface->device) || !virtio_net_stop(interface->net)) {
        return false;
    }
    transmit_take_back(interface);
    virtio_net_free(interface->net);
    interface->net = NULL;
    receive_empty(interface);
    return true;
}
