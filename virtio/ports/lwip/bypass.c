/* SPDX-License-Identifier: BSD-2-Clause */
/* Frames that bypass lwIP (see virtio_netif.h). */
#include "netif_private.h"

void virtio_netif_set_bypass(struct virtio_netif *interface,
                             const struct virtio_netif_bypass *bypass)
{
    interface->bypass = bypass;
}

bool virtio_netif_reserve(struct virtio_netif *interface, int blocks)
{
    int64_t reserved;
    bool granted;
    SYS_ARCH_DECL_PROTECT(level);

    SYS_ARCH_PROTECT(level);
    reserved = (int64_t)interface->reserved + blocks;
    granted = blocks <= 0 || reserved <= interface->blocks_count / 2;
    if (granted) {
        interface->reserved = (uint32_t)reserved;
    }
    SYS_ARCH_UNPROTECT(level);
    return granted;
}

/* A restart of the device frees the driver, but not while a critical section runs. */
bool virtio_netif_transmit(struct virtio_netif *interface, struct virtio_netif_packet *packet)
{
    bool accepted;
    SYS_ARCH_DECL_PROTECT(level);

    SYS_ARCH_PROTECT(level);
    accepted = netif_is_link_up(&interface->netif) && interface->net != NULL &&
               virtio_net_transmit(interface->net, &packet->packet);
    if (accepted) {
        virtio_net_flush(interface->net);
    }
    SYS_ARCH_UNPROTECT(level);
    return accepted;
}

bool virtio_netif_transmit_copy(struct virtio_netif *interface, struct virtio_netif_packet *packet)
{
    bool accepted;
    SYS_ARCH_DECL_PROTECT(level);

    SYS_ARCH_PROTECT(level);
    accepted =
        netif_is_link_up(&interface->netif) && alternative_transmit(interface, &packet->packet);
    SYS_ARCH_UNPROTECT(level);
    if (accepted) {
        packet->release(packet);
    }
    return accepted;
}

void virtio_netif_reclaim(struct virtio_netif *interface)
{
    struct virtio_net_packet *packet;
    SYS_ARCH_DECL_PROTECT(level);

    do {
        SYS_ARCH_PROTECT(level);
        packet = interface->net == NULL ? NULL : virtio_net_transmitted(interface->net);
        SYS_ARCH_UNPROTECT(level);
        transmit_free(packet);
    } while (packet != NULL);
}

bool virtio_netif_offers_checksum(const struct virtio_netif *interface)
{
    return interface->checksum_offered;
}
