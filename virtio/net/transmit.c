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

/* The rules of net.h; 5.1.4.2 and 5.1.6.2.1 behind them. */
static bool packet_valid(const struct virtio_net *net, const struct virtio_net_packet *packet)
{
    uint32_t limit = (uint32_t)net->mtu + ETHERNET_HEADER_BYTES;
    uint64_t sum = 0;

    if (packet->segment_count == 0 || packet->segment_count > net->segments_max) {
        return false;
    }
    for (unsigned i = 0; i < packet->segment_count; i++) {
        if (packet->segment[i].bytes == 0) {
            return false;
        }
        sum += packet->segment[i].bytes;
    }
    if (sum < ETHERNET_HEADER_BYTES ||
        (sum > limit && (sum > limit + VLAN_TAG_BYTES || !is_tagged(packet)))) {
        return false;
    }
    return !packet->checksum_partial ||
           ((net->features & VIRTIO_NET_F_CSUM) != 0 &&
            (uint32_t)packet->checksum_start + packet->checksum_offset + 2u <= sum);
}

unsigned net_put_header(const struct virtio_net *net, struct virtqueue_segment *segments,
                        unsigned count)
{
    segments[0].address -= net->header_bytes;
    if (!net->header_alone) {
        segments[0].bytes += net->header_bytes;
        return count;
    }
    memmove(&segments[1], &segments[0], count * sizeof(*segments));
    segments[0].bytes = net->header_bytes;
    segments[1].address += net->header_bytes;
    return count + 1;
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
    memcpy(packet->segment[0].memory - net->header_bytes, &header, net->header_bytes);
}

/* The header was written when the packet was accepted. */
static bool put_into_ring(struct virtio_net *net, struct virtio_net_packet *packet)
{
    struct virtqueue_segment segments[VIRTIO_NET_SEGMENTS_MAX + 1];
    unsigned count = packet->segment_count; /* one at least: packet_valid() */
    unsigned i = 0;
    uint32_t bytes = 0;

    if (!virtqueue_has_room(&net->transmit.ring, count + net->header_alone)) {
        return false;
    }
    do {
        segments[i].address = virtio_platform_dma_address(packet->segment[i].memory);
        segments[i].bytes = packet->segment[i].bytes;
        bytes += packet->segment[i].bytes;
        i++;
    } while (i < count);
    count = net_put_header(net, segments, count);
    if (!virtqueue_add(&net->transmit.ring, segments, count, 0, packet)) {
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
