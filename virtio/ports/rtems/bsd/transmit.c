/* SPDX-License-Identifier: BSD-2-Clause */
/* Transmission: from the interface's queue to the driver, and the return of packets. */
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

/* Describes the pieces of the chain. Returns false if there are too many. The first mbuf rarely has
 * room for the driver's header in front of the frame, because the stack leaves 2 bytes there. So
 * the first bytes are copied, which also saves the descriptor of the mbuf with the headers. */
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

/* Copies the frame from many mbufs to one cluster. Returns NULL if there is no cluster or the frame
 * is too long. */
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

/* Hands a frame to the driver. Returns false if the frame is lost because it violates a rule of
 * net.h or the device no longer works. */
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
    /* The other frames wait in the queue until the device has sent some and interrupts. */
    if (interface->free == NULL) {
        ifp->if_flags |= IFF_OACTIVE;
    } else {
        ifp->if_flags &= ~IFF_OACTIVE;
    }
    virtio_net_flush(interface->net);
}
