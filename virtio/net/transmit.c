/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Transmitting: into the ring if there is room, else into the send queue, else refused. Finished
 * packets are collected along the way; an interrupt is armed only when nothing else is certain to
 * come by.
 */
#include "net_private.h"
#include "virtio/endian.h"
#include <string.h>

/* Finished packets one transmit() collects: more than the one it adds, so that it catches up, and
 * few, because interrupts are locked out meanwhile. */
#define COLLECT_PER_TRANSMIT 4u

/* How often settling tries to be quicker than the device before it leaves that to the bottom half.
 */
#define SETTLE_TRIES 2u

static bool is_tagged(const struct virtio_net_packet *packet)
{
    const uint8_t *frame = packet->segment[0].memory;

    return packet->segment[0].bytes >= ETHERNET_HEADER_BYTES &&
           (((unsigned)frame[12] << 8) | frame[13]) == VLAN_ETHERTYPE;
}

/* The frame's pieces: how many, and *bytes in all. More than segments_max: against the rules. */
static unsigned measure(const struct virtio_net *net, const struct virtio_net_packet *packet,
                        uint64_t *bytes)
{
    unsigned too_many = net->segments_max + 1u;
    unsigned count = 0;

    *bytes = 0;
    for (; packet != NULL; packet = packet->rest) {
        if (packet->segment_count == 0 || packet->segment_count > VIRTIO_NET_SEGMENTS_MAX ||
            count + packet->segment_count > net->segments_max) {
            return too_many;
        }
        for (unsigned i = 0; i < packet->segment_count; i++) {
            if (packet->segment[i].bytes == 0) {
                return too_many;
            }
            *bytes += packet->segment[i].bytes;
        }
        count += packet->segment_count;
    }
    return count;
}

/* 5.1.6.2.1: only with the feature, and with the checksum left to the device; the frames cut from
 * it keep to the MTU (5.1.4.2). */
static bool gso_valid(const struct virtio_net *net, const struct virtio_net_packet *packet,
                      uint64_t bytes, uint32_t limit)
{
    return virtio_net_offers_gso(net, packet->gso_type) && packet->checksum_partial &&
           packet->gso_bytes != 0 && packet->header_bytes < bytes &&
           packet->header_bytes <= packet->segment[0].bytes &&
           (uint32_t)packet->header_bytes + packet->gso_bytes <= limit &&
           bytes <= VIRTIO_NET_GSO_FRAME_MAX;
}

/* The rules of net.h; 5.1.4.2 and 5.1.6.2.1 behind them. */
static bool packet_valid(const struct virtio_net *net, const struct virtio_net_packet *packet)
{
    uint32_t limit = (uint32_t)net->mtu + ETHERNET_HEADER_BYTES;
    uint64_t bytes;

    if (measure(net, packet, &bytes) > net->segments_max || bytes < ETHERNET_HEADER_BYTES) {
        return false;
    }
    if (bytes > limit && is_tagged(packet)) {
        limit += VLAN_TAG_BYTES;
    }
    if (packet->gso_type != VIRTIO_NET_GSO_NONE ? !gso_valid(net, packet, bytes, limit)
                                                : bytes > limit) {
        return false;
    }
    return !packet->checksum_partial ||
           ((net->features & VIRTIO_NET_F_CSUM) != 0 &&
            (uint32_t)packet->checksum_start + packet->checksum_offset + 2u <= bytes);
}

/* 5.1.6.2 */
static void write_header(const struct virtio_net *net, const struct virtio_net_packet *packet)
{
    struct net_header header = {0};

    _Static_assert(sizeof(header) == VIRTIO_NET_HEADER_BYTES, "the header as the device sees it");

    if (packet->checksum_partial) {
        header.flags = HEADER_NEEDS_CHECKSUM;
        header.checksum_start = virtio_le16(packet->checksum_start);
        header.checksum_offset = virtio_le16(packet->checksum_offset);
    }
    if (packet->gso_type != VIRTIO_NET_GSO_NONE) {
        header.gso_type = (uint8_t)packet->gso_type;
        header.gso_bytes = virtio_le16(packet->gso_bytes);
        header.header_bytes = virtio_le16(packet->header_bytes);
    }
    memcpy(packet->segment[0].memory - net->header_bytes, &header, net->header_bytes);
}

/* The frame's pieces as the device sees them, the header in the first or in front of it. Returns
 * how many; *bytes without the header. */
static unsigned gather(const struct virtio_net *net, const struct virtio_net_packet *packet,
                       struct virtqueue_segment *segments, uint32_t *bytes)
{
    uint32_t header = net->header_bytes;
    unsigned count = 0;

    if (net->header_alone) {
        segments[0].address = virtio_platform_dma_address(packet->segment[0].memory) - header;
        segments[0].bytes = header;
        header = 0;
        count = 1;
    }
    *bytes = 0;
    for (; packet != NULL; packet = packet->rest) {
        for (unsigned i = 0; i < packet->segment_count; i++) {
            segments[count].address =
                virtio_platform_dma_address(packet->segment[i].memory) - header;
            segments[count].bytes = packet->segment[i].bytes + header;
            *bytes += packet->segment[i].bytes;
            header = 0;
            count++;
        }
    }
    return count;
}

/* The packet was found valid and its header written when it was accepted. */
static bool put_into_ring(struct virtio_net *net, struct virtio_net_packet *packet)
{
    struct virtqueue_segment segments[VIRTIO_NET_FRAME_SEGMENTS_MAX + 1];
    uint32_t bytes;
    unsigned count = gather(net, packet, segments, &bytes);

    if (!virtqueue_has_room(&net->transmit.ring, count) ||
        !virtqueue_add(&net->transmit.ring, segments, count, 0, packet)) {
        return false;
    }
    net->statistics.tx_frames++;
    net->statistics.tx_bytes += bytes;
    return true;
}

static bool collect_one(struct virtio_net *net)
{
    uint32_t bytes;
    struct virtio_net_packet *packet = virtqueue_take(&net->transmit.ring, &bytes);

    if (packet == NULL) {
        return false;
    }
    packet_list_append(&net->transmitted, packet);
    net->transmitted_news = true;
    return true;
}

static bool move_up_one(struct virtio_net *net)
{
    if (net->waiting.first == NULL || !put_into_ring(net, net->waiting.first)) {
        return false;
    }
    (void)packet_list_take(&net->waiting);
    return true;
}

unsigned net_transmit_service(struct virtio_net *net, unsigned budget)
{
    unsigned moved = 0;
    bool progress = true;

    /* In turns, so that a small budget does not empty the ring while frames wait for it. */
    while (progress) {
        progress = false;
        if (moved < budget && collect_one(net)) {
            progress = true;
            moved++;
        }
        if (moved < budget && move_up_one(net)) {
            progress = true;
            moved++;
        }
    }
    return moved;
}

bool net_transmit_needs_interrupt(const struct virtio_net *net)
{
    return net->waiting.first != NULL ||
           virtqueue_in_flight(&net->transmit.ring) >= net->transmit_threshold;
}

bool net_transmit_arm(struct virtio_net *net)
{
    struct virtqueue *ring = &net->transmit.ring;

    if (virtqueue_in_flight(ring) == 0) { /* nothing there that could end in an interrupt */
        return false;
    }
    /* Once half of what is with the device has finished: then it still has work while the rest of
     * the send queue moves up, and one interrupt serves many packets. */
    return virtqueue_armed(ring) ||
           virtqueue_enable(ring, (uint16_t)(virtqueue_in_flight(ring) / 2u));
}

void net_transmit_settle(struct virtio_net *net)
{
    for (unsigned tries = 0; net->state == NET_RUNNING; tries++) {
        net_kick(net, &net->transmit);
        if (net->bottom_half_pending || !net_transmit_needs_interrupt(net) ||
            net_transmit_arm(net)) {
            return;
        }
        if (tries == SETTLE_TRIES) {
            net_wake(net);
            return;
        }
        (void)net_transmit_service(net, net->interrupt_budget);
        net_check(net);
    }
}

static bool accept_packet(struct virtio_net *net, struct virtio_net_packet *packet)
{
    (void)net_transmit_service(net, COLLECT_PER_TRANSMIT);
    net_check(net);
    if (net->state != NET_RUNNING) {
        return false;
    }
    write_header(net, packet);
    if (net->waiting.first == NULL && put_into_ring(net, packet)) {
        return true;
    }
    if (net->waiting.count >= net->send_queue_limit) {
        return false;
    }
    packet_list_append(&net->waiting, packet);
    return true;
}

bool virtio_net_transmit(struct virtio_net *net, struct virtio_net_packet *packet)
{
    virtio_lock_state state = net_enter();
    bool accepted =
        net->state == NET_RUNNING && packet_valid(net, packet) && accept_packet(net, packet);

    if (accepted) {
        net->statistics.tx_accepted++;
    } else {
        net->statistics.tx_refused++;
    }
    /* The ring is full, or was: don't wait for a flush to get it emptied. */
    if (net->waiting.first != NULL) {
        net_transmit_settle(net);
    }
    net_leave(net, state);
    return accepted;
}

void virtio_net_flush(struct virtio_net *net)
{
    virtio_lock_state state = net_enter();

    net_transmit_settle(net);
    net_leave(net, state);
}

struct virtio_net_packet *virtio_net_transmitted(struct virtio_net *net)
{
    virtio_lock_state state = net_enter();
    struct virtio_net_packet *packet;

    if (net->transmitted.first == NULL && net->state == NET_RUNNING) {
        unsigned moved = net_transmit_service(net, net->interrupt_budget);

        net_check(net);
        if (moved != 0) {
            net_transmit_settle(net);
        }
    }
    packet = packet_list_take(&net->transmitted);
    if (packet != NULL) {
        net->statistics.tx_returned++;
    }
    net_leave(net, state);
    return packet;
}

unsigned virtio_net_transmitting(const struct virtio_net *net)
{
    return (unsigned)(net->statistics.tx_accepted - net->statistics.tx_returned);
}
