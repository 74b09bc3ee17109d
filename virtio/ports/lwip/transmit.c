/* SPDX-License-Identifier: BSD-2-Clause */
/* Transmission: describes lwIP's pbufs in packets of the driver, and releases them later (see
 * virtio_netif.h). */
#include "lwip/prot/ethernet.h"
#include "lwip/prot/ip.h"
#include "lwip/prot/ip4.h"
#include "lwip/prot/ip6.h"
#include "lwip/prot/tcp.h"
#include "netif_private.h"
#include "network_system.h"
#include <string.h>

/* A packet of the interface's pool, for a frame of lwIP. */
struct frame_packet {
    struct virtio_netif_packet transmit; /* first, because release() gets a pointer to it */
    struct virtio_netif *interface;
    struct pbuf *pbuf;
};

static void put_packet(struct virtio_netif *interface, struct virtio_net_packet *packet)
{
    SYS_ARCH_DECL_PROTECT(level);

    LWIP_ASSERT("packet freed twice", packet != interface->packets);
    SYS_ARCH_PROTECT(level);
    packet->next = interface->packets;
    interface->packets = packet;
    interface->packets_free++;
    SYS_ARCH_UNPROTECT(level);
}

static struct virtio_net_packet *take_packet(struct virtio_netif *interface)
{
    struct virtio_net_packet *packet;
    SYS_ARCH_DECL_PROTECT(level);

    SYS_ARCH_PROTECT(level);
    packet = interface->packets;
    if (packet != NULL) {
        interface->packets = packet->next;
        interface->packets_free--;
    }
    SYS_ARCH_UNPROTECT(level);
    return packet;
}

static void release_frame(struct virtio_netif_packet *transmit)
{
    struct frame_packet *frame = (struct frame_packet *)transmit;

    pbuf_free(frame->pbuf);
    put_packet(frame->interface, &transmit->packet);
}

bool transmit_init(struct virtio_netif *interface)
{
    struct frame_packet *storage = network_memory_allocate(TRANSMIT_PACKETS * sizeof(*storage));

    if (storage == NULL) {
        return false;
    }
    interface->packets_memory = storage;
    for (unsigned i = TRANSMIT_PACKETS; i > 0; i--) {
        struct frame_packet *packet = &storage[i - 1];

        packet->transmit.packet.owner = &packet->transmit;
        packet->transmit.release = release_frame;
        packet->interface = interface;
        put_packet(interface, &packet->transmit.packet);
    }
    interface->parameters.driver.send_queue = TRANSMIT_PACKETS;
    return true;
}

void transmit_destroy(struct virtio_netif *interface)
{
    if (interface->packets_memory != NULL && interface->packets_free == TRANSMIT_PACKETS) {
        network_memory_free(interface->packets_memory);
    }
}

void transmit_free(struct virtio_net_packet *packet)
{
    while (packet != NULL) {
        struct virtio_netif_packet *transmit = packet->owner;

        packet = packet->rest;
        transmit->release(transmit);
    }
}

void transmit_take_back(struct virtio_net *net)
{
    struct virtio_net_packet *packet;

    while ((packet = virtio_net_transmitted(net)) != NULL) {
        transmit_free(packet);
    }
}

/* Describes the frame's pieces in `packet`. Returns false if the frame must be copied to be sent.
 */
static bool describe_pieces(struct virtio_net_packet *packet, struct pbuf *frame)
{
    uint16_t count = 0;

    if (frame->len == 0 || pbuf_add_header(frame, VIRTIO_NET_HEADER_BYTES) != 0) {
        return false;
    }
    (void)pbuf_remove_header(frame, VIRTIO_NET_HEADER_BYTES);
    for (struct pbuf *piece = frame; piece != NULL; piece = piece->next) {
        if (piece->len == 0) {
            continue;
        }
        if (count == VIRTIO_NET_SEGMENTS_MAX || PBUF_NEEDS_COPY(piece)) {
            return false;
        }
        packet->segment[count].memory = piece->payload;
        packet->segment[count].bytes = piece->len;
        count++;
    }
    packet->segment_count = count;
    return true;
}

/* Adds 16-bit words; fold() makes the ones' complement sum of the result. */
static uint64_t sum_words(uint64_t sum, const uint8_t *data, size_t bytes)
{
    for (size_t i = 0; i < bytes; i += 2) {
        uint16_t word;

        memcpy(&word, data + i, sizeof(word));
        sum += word;
    }
    return sum;
}

static uint16_t fold(uint64_t sum)
{
    while (sum > 0xffff) {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    return (uint16_t)sum;
}

/*
 * Leaves the checksum of an unfragmented TCP segment to the device (VIRTIO 1.3, 5.1.6.2): writes
 * the sum of the pseudo header to the checksum field, and sets csum_start and csum_offset. lwIP
 * computes UDP checksums itself, before it fragments a datagram; no device can complete the
 * checksum of fragments.
 */
static void leave_checksum(struct virtio_netif *interface, struct virtio_net_packet *packet)
{
    uint8_t *frame = packet->segment[0].memory;
    uint32_t bytes = packet->segment[0].bytes;
    struct eth_hdr *ethernet = (struct eth_hdr *)frame;
    uint8_t *packet_start = frame + SIZEOF_ETH_HDR;
    uint32_t header_bytes;
    uint32_t tcp_bytes;
    uint64_t sum;
    struct tcp_hdr *tcp;

    if (bytes < SIZEOF_ETH_HDR + IP_HLEN) {
        return;
    }
    if (ethernet->type == PP_HTONS(ETHTYPE_IP)) {
        struct ip_hdr *ip = (struct ip_hdr *)packet_start;

        header_bytes = IPH_HL_BYTES(ip);
        if (IPH_PROTO(ip) != IP_PROTO_TCP || (IPH_OFFSET(ip) & PP_HTONS(IP_OFFMASK | IP_MF)) != 0) {
            return;
        }
        tcp_bytes = lwip_ntohs(IPH_LEN(ip)) - header_bytes;
        sum = sum_words(0, (uint8_t *)&ip->src, 8);
    } else if (ethernet->type == PP_HTONS(ETHTYPE_IPV6) && bytes >= SIZEOF_ETH_HDR + IP6_HLEN) {
        struct ip6_hdr *ip = (struct ip6_hdr *)packet_start;

        header_bytes = IP6_HLEN;
        if (IP6H_NEXTH(ip) != IP6_NEXTH_TCP) {
            return;
        }
        tcp_bytes = IP6H_PLEN(ip);
        sum = sum_words(0, (uint8_t *)&ip->src, 32);
    } else {
        return;
    }
    if (bytes < SIZEOF_ETH_HDR + header_bytes + TCP_HLEN) {
        return;
    }
    sum += PP_HTONS(IP_PROTO_TCP);
    sum += lwip_htons((u16_t)tcp_bytes);
    tcp = (struct tcp_hdr *)(packet_start + header_bytes);
    tcp->chksum = fold(sum);
    packet->checksum_partial = true;
    packet->checksum_start = (uint16_t)(SIZEOF_ETH_HDR + header_bytes);
    packet->checksum_offset = offsetof(struct tcp_hdr, chksum);
    interface->transmit_checksums++;
}

/* Passes a packet to the driver, whose send queue has room for all packets of the pool. The driver
 * refuses a packet only if it is stopped; TCP then retransmits. */
static bool send_packet(struct virtio_netif *interface, struct virtio_net_packet *packet)
{
    if (interface->checksum_offered) {
        leave_checksum(interface, packet);
    }
    if (!virtio_net_transmit(interface->net, packet)) {
        transmit_free(packet);
        interface->transmit_dropped++;
        return false;
    }
    interface->unflushed = true;
    return true;
}

static void send_held(struct virtio_netif *interface)
{
    struct virtio_net_packet *packet = segmentation_take(&interface->segmentation);

    if (packet != NULL) {
        (void)send_packet(interface, packet);
    }
}

void transmit_release(void *context)
{
    struct virtio_netif *interface = context;

    send_held(interface);
    if (interface->unflushed && interface->net != NULL) {
        interface->unflushed = false;
        virtio_net_flush(interface->net);
    }
    /* lwIP does not retransmit a segment whose pbuf the device may still read, so sent packets are
     * released here instead of at the next interrupt. */
    if (interface->net != NULL && virtio_net_transmitting(interface->net) != 0) {
        transmit_take_back(interface->net);
    }
}

/* Describes the frame, or a copy of it, in `packet`. Returns the frame with one more reference, or
 * the copy. Returns NULL if memory is exhausted. */
static struct pbuf *hold_frame(struct virtio_netif *interface, struct virtio_net_packet *packet,
                               struct pbuf *frame)
{
    struct pbuf *copy;

    if (describe_pieces(packet, frame)) {
        pbuf_ref(frame);
        return frame;
    }
    copy = pbuf_alloc(PBUF_RAW_TX, frame->tot_len, PBUF_RAM);
    if (copy == NULL) {
        return NULL;
    }
    if (pbuf_copy(copy, frame) != ERR_OK || !describe_pieces(packet, copy)) {
        pbuf_free(copy);
        return NULL;
    }
    interface->transmit_copied++;
    return copy;
}

/* Returns a packet that describes the frame. Returns NULL and sets *error if memory is exhausted.
 */
static struct virtio_net_packet *make_packet(struct virtio_netif *interface, struct pbuf *frame,
                                             err_t *error)
{
    struct virtio_net_packet *packet;
    struct frame_packet *transmit;

    if (interface->packets_free == 0) {
        transmit_release(interface);
    }
    packet = take_packet(interface);
    if (packet == NULL) {
        *error = ERR_BUF;
        return NULL;
    }
    packet->rest = NULL;
    packet->gso_type = VIRTIO_NET_GSO_NONE;
    packet->checksum_partial = false;
    transmit = packet->owner;
    transmit->pbuf = hold_frame(interface, packet, frame);
    if (transmit->pbuf == NULL) {
        put_packet(interface, packet);
        *error = ERR_MEM;
        return NULL;
    }
    return packet;
}

err_t transmit_frame(struct netif *netif, struct pbuf *frame)
{
    struct virtio_netif *interface = netif->state;
    struct virtio_net_packet *packet;
    err_t error;

    if (interface->net == NULL) {
        return ERR_IF;
    }
    if (interface->bypass != NULL) {
        interface->bypass->output(frame->payload, frame->len);
    }
    if (interface->checksum_offered) {
        /* tcp_guard.c may have enabled it for a fragmented packet. */
        netif->chksum_flags &= (u16_t)~NETIF_CHECKSUM_GEN_TCP;
    }
    packet = make_packet(interface, frame, &error);
    if (packet == NULL) {
        interface->transmit_dropped++;
        return error;
    }
    if (segmentation_join(&interface->segmentation, interface->net, packet)) {
        return ERR_OK;
    }
    send_held(interface);
    if (segmentation_hold(&interface->segmentation, interface->net, packet)) {
        return ERR_OK;
    }
    return send_packet(interface, packet) ? ERR_OK : ERR_BUF;
}
