/* SPDX-License-Identifier: BSD-2-Clause */
/* The interface's commands, and the device's receive filters. */
#include "bsdnet_private.h"
#include "virtio/net_control.h"
#include <inttypes.h>
#include <stdio.h>

/* Writes the groups that the stack has joined to the device. Returns false if the device does not
 * accept all of them. */
static bool set_groups(struct virtio_bsdnet *interface)
{
    uint8_t groups[VIRTIO_NET_FILTER_MAX][6];
    unsigned count = 0;

    for (struct ether_multi *group = interface->arpcom.ac_multiaddrs; group != NULL;
         group = group->enm_next) {
        if (count == VIRTIO_NET_FILTER_MAX ||
            memcmp(group->enm_addrlo, group->enm_addrhi, sizeof(groups[0])) != 0) {
            return false;
        }
        memcpy(groups[count++], group->enm_addrlo, sizeof(groups[0]));
    }
    return virtio_net_set_filter(interface->net, groups, 0, count) == VIRTIO_NET_DONE;
}

void control_filter(struct virtio_bsdnet *interface)
{
    const uint8_t *address = interface->arpcom.ac_enaddr;
    int flags = interface->arpcom.ac_if.if_flags;
    uint8_t mac[6];
    bool ours;

    if (!interface->running) {
        return; /* device_start() calls this function again */
    }
    ours = virtio_net_mac(interface->net, mac) && memcmp(mac, address, sizeof(mac)) == 0;
    (void)virtio_net_set_receive_mode(interface->net, VIRTIO_NET_ALL_MULTICAST,
                                      !set_groups(interface) || (flags & IFF_ALLMULTI) != 0);
    /* The device must accept frames for our address before promiscuous mode ends. */
    ours = ours || virtio_net_set_mac(interface->net, address) == VIRTIO_NET_DONE;
    (void)virtio_net_set_receive_mode(interface->net, VIRTIO_NET_PROMISCUOUS,
                                      !ours || (flags & IFF_PROMISC) != 0);
    (void)virtio_net_set_receive_mode(interface->net, VIRTIO_NET_NO_BROADCAST,
                                      interface->ignore_broadcast);
}

/* Prints the counters for the stack's own command, below the interface's name. */
static void show_counters(struct virtio_bsdnet *interface)
{
    struct virtio_net_statistics net;

    if (interface->running) {
        virtio_net_statistics(interface->net, &net);
        printf("Rx: %" PRIu64 " frames, %" PRIu64 " bytes, all buffers used %" PRIu64 " times\n",
               net.rx_frames, net.rx_bytes, net.rx_dry);
        printf("Tx: %" PRIu64 " frames, %" PRIu64 " bytes, %" PRIu64 " refused\n", net.tx_frames,
               net.tx_bytes, net.tx_refused);
        printf("Interrupts: %" PRIu64 ", device restarts: %" PRIu32 "\n", net.interrupts,
               interface->restarts);
    }
}

static int set_flags(struct virtio_bsdnet *interface)
{
    bool up = (interface->arpcom.ac_if.if_flags & IFF_UP) != 0;

    if (up ? !device_start(interface) : interface->running && !device_stop(interface)) {
        return EIO; /* the bottom half tries again */
    }
    control_filter(interface);
    return 0;
}

int control_command(struct ifnet *ifp, ioctl_command_t command, caddr_t data)
{
    struct virtio_bsdnet *interface = ifp->if_softc;
    struct ifreq *request = (struct ifreq *)data;
    int error;

    switch (command) {
    case SIOCSIFFLAGS:
        return set_flags(interface);
    case SIOCADDMULTI:
    case SIOCDELMULTI:
        error = command == SIOCADDMULTI ? ether_addmulti(request, &interface->arpcom)
                                        : ether_delmulti(request, &interface->arpcom);
        if (error != ENETRESET) {
            return error;
        }
        control_filter(interface); /* the list has changed */
        return 0;
    case SIOCSIFMTU:
        if (!interface->running || request->ifr_mtu > virtio_net_mtu(interface->net)) {
            return EINVAL;
        }
        break;
    case SIO_RTEMS_SHOW_STATS:
        show_counters(interface);
        return 0;
    default:
        break;
    }
    return ether_ioctl(ifp, command, data);
}
