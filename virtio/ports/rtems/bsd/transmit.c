/* SPDX-License-Identifier: BSD-2-Clause */
/* Frames to send: from the interface's queue to the driver, and what it gives back. */
#include "bsdnet_private.h"

void transmit_take_back(struct virtio_bsdnet *interface)
{
    struct virtio_net_packet *packet;

    while ((packet = virtio_net_transmitted(interface->net)) != NULL) {
        struct transmit *transmit = packet->owner;

        m_freem(transmit->chain);
        transmit->next = interface->free;
        interface->free = transmit;
    }
}

static void add_piece(struct virtio_net_packet *packet, void *memory, uint32_t bytes)
{
    packet->segment[packet->segment_count].memory = memory;
    packet->segment[packet->segment_count].bytes = bytes;
    packet->segment_count++;
}

/* The chain's pieces; false: there are too many. The first one rarely has room in front of it for
 * the driver's header: the stack leaves 2 bytes before an Ethernet header. What it begins with is
 * copied, which also saves a descriptor for the headers' mbuf. */
static bool describe(struct transmit *transmit)
{
    struct virtio_net_packet *packet = &transmit->packet;
    struct mbuf *mbuf = transmit->chain;
    uint32_t copied = min(mbuf->m_len, HEAD_BYTES);

    packet->segment_count = 0;
    memcpy(transmit->head + VIRTIO_NET_HEADER_BYTES, mtod(mbuf, void *), copied);
    add_piece(packet, transmit->head + VIRTIO_NET_HEADER_BYTES, copied);
    for (; mbuf != NULL; mbuf = mbuf->m_next) {
        uint32_t bytes = (uint32_t)mbuf->m_len - copied;

        if (bytes != 0 && packet->segment_count == VIRTIO_NET_SEGMENTS_MAX) {
            return false;
        }
        if (bytes != 0) {
            add_piece(packet, mtod(mbuf, uint8_t *) + copied, bytes);
        }
        copied = 0;
    }
    return true;
}

/* The frame in one cluster instead of many mbufs; NULL: there is none, or it is too long. */
static struct mbuf *gather(struct mbuf *chain)
{
    int bytes = chain->m_pkthdr.len;
    struct mbuf *whole = bytes <= MCLBYTES ? receive_cluster() : NULL;

    if (whole != NULL) {
        (void)m_copydata(chain, 0, bytes, mtod(whole, caddr_t));
        whole->m_len = bytes;
        whole->m_pkthdr.len = bytes;
    }
    m_freem(chain);
    return whole;
}

/* True: the driver has it. Else it is lost: it breaks a rule, or the device no longer works. */
static bool send(struct virtio_bsdnet *interface, struct transmit *transmit)
{
    if (!describe(transmit)) {
        transmit->chain = gather(transmit->chain);
        if (transmit->chain == NULL) {
            return false;
        }
        (void)describe(transmit);
    }
    if (!virtio_net_transmit(interface->net, &transmit->packet)) {
        m_freem(transmit->chain);
        return false;
    }
    return true;
}

void transmit_start(struct ifnet *ifp)
{
    struct virtio_bsdnet *interface = ifp->if_softc;
    struct transmit *transmit;

    if (!interface->running) {
        return;
    }
    transmit_take_back(interface);
    while ((transmit = interface->free) != NULL) {
        IF_DEQUEUE(&ifp->if_snd, transmit->chain);
        if (transmit->chain == NULL) {
            break;
        }
        if (send(interface, transmit)) {
            interface->free = transmit->next;
            ifp->if_opackets++;
        } else {
            ifp->if_oerrors++;
        }
    }
    /* The rest waits in the queue until the device has sent some: it interrupts then. */
    if (interface->free == NULL) {
        ifp->if_flags |= IFF_OACTIVE;
    } else {
        ifp->if_flags &= ~IFF_OACTIVE;
    }
    virtio_net_flush(interface->net);
}
