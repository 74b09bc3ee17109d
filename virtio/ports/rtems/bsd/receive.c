/* SPDX-License-Identifier: BSD-2-Clause */
/* Reception: clusters for the device to write to, and the delivery of frames to the stack. */
#include "bsdnet_private.h"
#include "virtio/vlan.h"

/* The stack's queue holds 50 IP packets (IFQ_MAXLEN) and drops further ones, so the stack has to
 * empty it between two batches. */
#define BATCH_FRAMES 32u

/* Stored at the start of a cluster while the driver owns it. */
struct cluster {
    struct virtio_net_buffer buffer;
    struct mbuf *mbuf;
};

/* Offset in a cluster at which the device writes the virtio header. The IP header, 12 + 14 bytes
 * further on, is aligned to 16 bytes. */
#define OFFSET 54u

_Static_assert(sizeof(struct cluster) <= OFFSET, "cluster's head");
_Static_assert(OFFSET + VIRTIO_NET_RECEIVE_BYTES <= MCLBYTES, "cluster's size");

struct virtio_net_buffer *receive_take(void *context)
{
    struct virtio_bsdnet *interface = context;
    struct virtio_net_buffer *buffer = interface->ready;

    if (buffer == NULL) {
        interface->dry = true;
        return NULL;
    }
    interface->ready = buffer->next;
    interface->ready_count--;
    return buffer;
}

void receive_return(void *context, struct virtio_net_buffer *buffer)
{
    struct virtio_bsdnet *interface = context;

    buffer->next = interface->ready;
    interface->ready = buffer;
    interface->ready_count++;
}

struct mbuf *receive_cluster(void)
{
    struct mbuf *mbuf;

    MGETHDR(mbuf, M_DONTWAIT, MT_DATA);
    if (mbuf == NULL) {
        return NULL;
    }
    MCLGET(mbuf, M_DONTWAIT);
    if ((mbuf->m_flags & M_EXT) == 0) {
        m_freem(mbuf);
        return NULL;
    }
    return mbuf;
}

void receive_fill(struct virtio_bsdnet *interface, unsigned count)
{
    struct mbuf *mbuf;

    while (interface->ready_count < count && (mbuf = receive_cluster()) != NULL) {
        struct cluster *cluster = mtod(mbuf, struct cluster *);
        uint64_t state;

        cluster->mbuf = mbuf;
        cluster->buffer.memory = (uint8_t *)cluster + OFFSET;
        cluster->buffer.capacity = MCLBYTES - OFFSET;
        state = virtio_platform_lock();
        receive_return(interface, &cluster->buffer);
        virtio_platform_unlock(state);
    }
    if (interface->dry && interface->ready_count != 0 && interface->running) {
        interface->dry = false;
        virtio_net_refill(interface->net);
    }
}

void receive_empty(struct virtio_bsdnet *interface)
{
    struct virtio_net_buffer *buffer;

    while ((buffer = receive_take(interface)) != NULL) { /* no interrupts come any more */
        m_freem(((struct cluster *)buffer)->mbuf);
    }
}

static bool is_for_us(const struct virtio_bsdnet *interface, const struct ether_header *header)
{
    if (memcmp(header->ether_dhost, etherbroadcastaddr, ETHER_ADDR_LEN) == 0) {
        return !interface->ignore_broadcast;
    }
    return (header->ether_dhost[0] & 1) != 0 ||
           memcmp(header->ether_dhost, interface->arpcom.ac_enaddr, ETHER_ADDR_LEN) == 0;
}

/* A device without filters also delivers frames for other stations. The stack would accept them, so
 * only the listener (SIOCSIFTAP) of a promiscuous interface gets them. */
static void show_to_listener(struct ifnet *ifp, struct ether_header *header, struct mbuf *mbuf)
{
    if ((ifp->if_flags & IFF_PROMISC) != 0 && ifp->if_tap != NULL) {
        (void)ifp->if_tap(ifp, header, mbuf);
    }
    m_freem(mbuf);
}

/* Removes a tag of VLAN 0. The stack knows no tags, and drops the frames of other VLANs. */
static uint8_t *remove_priority_tag(uint8_t *frame, uint32_t *bytes)
{
    if (!virtio_vlan_has_tag(frame) ||
        *bytes < sizeof(struct ether_header) + VIRTIO_VLAN_TAG_BYTES ||
        virtio_vlan_of(frame) != 0) {
        return frame;
    }
    *bytes -= VIRTIO_VLAN_TAG_BYTES;
    return virtio_vlan_remove_tag(frame);
}

static void deliver(struct virtio_bsdnet *interface, const struct virtio_net_buffer *buffer)
{
    uint32_t bytes = buffer->frame_bytes;
    uint8_t *frame = remove_priority_tag(buffer->memory + VIRTIO_NET_HEADER_BYTES, &bytes);
    struct ether_header *header = (void *)frame;
    struct mbuf *mbuf = ((const struct cluster *)buffer)->mbuf;

    mbuf->m_data = (caddr_t)(header + 1);
    mbuf->m_len = (int)(bytes - sizeof(*header));
    mbuf->m_pkthdr.len = mbuf->m_len;
    mbuf->m_pkthdr.rcvif = &interface->arpcom.ac_if;
    interface->arpcom.ac_if.if_ipackets++;
    if (is_for_us(interface, header)) {
        ether_input(&interface->arpcom.ac_if, header, mbuf);
    } else {
        show_to_listener(&interface->arpcom.ac_if, header, mbuf);
    }
}

void receive_batch(struct virtio_bsdnet *interface)
{
    struct virtio_net_buffer *buffer;

    for (unsigned i = 0; i < BATCH_FRAMES; i++) {
        receive_fill(interface, interface->set_aside);
        /* Exposes new buffers; otherwise a device with few buffers would stall meanwhile. */
        (void)virtio_net_poll(interface->net);
        buffer = virtio_net_receive(interface->net);
        if (buffer == NULL) {
            return;
        }
        deliver(interface, buffer);
    }
}
