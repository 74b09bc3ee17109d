/* SPDX-License-Identifier: BSD-2-Clause */
/* Frames past lwIP (see virtio_netif.h). */
#include "kernel/interrupt.h"
#include "kernel/list.h"
#include "netif_private.h"

void virtio_netif_set_bypass(struct virtio_netif *interface,
                             const struct virtio_netif_bypass *bypass)
{
    interface->bypass = bypass;
}

void virtio_netif_release(struct virtio_net_buffer *buffer)
{
    receive_block_free(CONTAINER_OF(buffer, struct receive_block, buffer));
}

bool virtio_netif_reserve(struct virtio_netif *interface, int blocks)
{
    interrupt_state state = interrupts_save();
    int64_t reserved = (int64_t)interface->reserved + blocks;
    bool granted = blocks <= 0 || reserved <= interface->receive_pool.capacity / 2;

    if (granted) {
        interface->reserved = (uint32_t)reserved;
    }
    interrupts_restore(state);
    return granted;
}

/* The driver goes away when the device is restarted, but not while interrupts are masked. */
bool virtio_netif_transmit(struct virtio_netif *interface, struct virtio_netif_packet *packet)
{
    interrupt_state state = interrupts_save();
    bool accepted = netif_is_link_up(&interface->netif) && interface->net != NULL &&
                    virtio_net_transmit(interface->net, &packet->packet);

    if (accepted) {
        virtio_net_flush(interface->net);
    }
    interrupts_restore(state);
    return accepted;
}

void virtio_netif_reclaim(struct virtio_netif *interface)
{
    struct virtio_net_packet *packet;

    do {
        interrupt_state state = interrupts_save();

        packet = interface->net == NULL ? NULL : virtio_net_transmitted(interface->net);
        interrupts_restore(state);
        transmit_free(interface, packet);
    } while (packet != NULL);
}

bool virtio_netif_offers_checksum(const struct virtio_netif *interface)
{
    return interface->checksum_offered;
}
