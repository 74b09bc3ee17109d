/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Transmits packets: into the ring if it has room, else into the send queue, else they are refused.
 * Finished packets are collected on these occasions. An interrupt is armed only when no other
 * occasion is certain to come. A thread that polls (virtio/net_burst.h) uses the ring alone.
 */
#include "net_private.h"
#include "virtio/endian.h"
#include "virtio/net_burst.h"
#include <string.h>

/* The steps of a sender are compiled twice: packets that are copied to a pool take a path of their
 * own, and undivided the steps take fewer instructions. */
#define ALWAYS_INLINE inline __attribute__((always_inline))

/* Attempts to arm an interrupt for a device that finishes packets meanwhile, before the bottom half
 * is woken instead. */
#define SETTLE_TRIES 2u

/* Describes a packet's segments in net->frame, with the header in the first segment or in one of
 * its own. Returns false if the packet has no segment, too many, or one of 0 bytes. */
static bool describe_frame(struct virtio_net *net, const struct virtio_net_packet *packet)
{
    struct net_frame *frame = &net->frame;
    uint32_t header = net->header_bytes;

    frame->count = 0;
    frame->bytes = 0;
    if (net->header_alone && packet->segment_count != 0) {
        frame->segments[0].address =
            virtio_platform_dma_address(packet->segment[0].memory) - header;
        frame->segments[0].bytes = header;
        frame->count = 1;
        header = 0;
    }
    for (; packet != NULL; packet = packet->rest) {
        if (packet->segment_count == 0 || packet->segment_count > VIRTIO_NET_SEGMENTS_MAX ||
            frame->count + packet->segment_count >
                net->segments_max + (unsigned)net->header_alone) {
            return false;
        }
        for (unsigned i = 0; i < packet->segment_count; i++) {
            const struct virtio_net_segment *segment = &packet->segment[i];
            struct virtqueue_segment *piece = &frame->segments[frame->count++];

            if (segment->bytes == 0) {
                return false;
            }
            piece->address = virtio_platform_dma_address(segment->memory) - header;
            piece->bytes = segment->bytes + header;
            frame->bytes += segment->bytes;
            header = 0;
        }
    }
    return true;
}

/* Checks a packet that the device is to segment (5.1.6.2.1): the feature was negotiated, the device
 * completes the checksum, and the resulting frames do not exceed the MTU (5.1.4.2). */
static bool gso_valid(const struct virtio_net *net, const struct virtio_net_packet *packet,
                      uint64_t bytes, uint32_t limit)
{
    return virtio_net_offers_gso(net, packet->gso_type) && packet->checksum_partial &&
           packet->gso_bytes != 0 && packet->header_bytes < bytes &&
           packet->header_bytes <= packet->segment[0].bytes &&
           (uint32_t)packet->header_bytes + packet->gso_bytes <= limit &&
           bytes <= VIRTIO_NET_GSO_FRAME_MAX;
}

/* Returns true if the frame has a VLAN tag (IEEE 802.1Q), which is not part of the MTU. */
static bool has_vlan_tag(const uint8_t *frame)
{
    return (((unsigned)frame[12] << 8) | frame[13]) == VLAN_ETHERTYPE;
}

/* Checks the rules of net.h (5.1.4.2, 5.1.6.2.1). */
static ALWAYS_INLINE bool packet_valid(const struct virtio_net *net,
                                       const struct virtio_net_packet *packet, uint64_t bytes)
{
    uint32_t limit = (uint32_t)net->mtu + ETHERNET_HEADER_BYTES;

    if (bytes < ETHERNET_HEADER_BYTES) {
        return false;
    }
    if (bytes > limit && packet->segment[0].bytes >= ETHERNET_HEADER_BYTES &&
        has_vlan_tag(packet->segment[0].memory)) {
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

/* Writes struct virtio_net_hdr (5.1.6.2) in front of the frame. */
static ALWAYS_INLINE void write_header(const struct virtio_net *net,
                                       const struct virtio_net_packet *packet)
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

/* Adds the packet that describe_frame() has described in net->frame. Returns false if the ring is
 * full. */
static bool put_into_ring(struct virtio_net *net, struct virtio_net_packet *packet)
{
    const struct net_frame *frame = &net->frame;

    if (!virtqueue_add(&net->transmit.ring, frame->segments, frame->count, 0, packet)) {
        return false;
    }
    net->statistics.tx_frames++;
    net->statistics.tx_bytes += frame->bytes;
    return true;
}

/* As put_into_ring(), with a copy of the packet, of `bytes` bytes, in slots of the pool, if there
 * are enough. `state`: of the lock, which is released while the packet is copied. The driver may
 * not be running any more afterwards. */
static bool copy_into_ring(struct virtio_net *net, struct virtio_net_packet *packet, uint64_t bytes,
                           virtio_lock_state *state)
{
    struct virtio_bounce_slot *slot = net_bounce_reserve(net, bytes);

    if (slot == NULL) {
        return false;
    }
    net->copying++;
    net_unlock(net, *state);
    net_bounce_copy(net, slot, packet);
    *state = virtio_platform_lock();
    net->copying--;
    if (!net_bounce_add(net, slot, packet, bytes)) {
        return false;
    }
    net->statistics.tx_frames++;
    net->statistics.tx_bytes += bytes;
    return true;
}

/* Moves up to `limit` (<= NET_BATCH) finished packets to `transmitted`. Returns their number. */
static unsigned collect_finished(struct virtio_net *net, unsigned limit)
{
    struct virtqueue_item items[NET_BATCH];
    unsigned count = virtqueue_take_batch(&net->transmit.ring, items, limit);

    if (count != 0 && net->bounces) {
        net_bounce_finished(&net->transmit_slots, items, count);
    }
    for (unsigned i = 0; i < count; i++) {
        packet_list_append(&net->transmitted, items[i].token);
        net->transmitted_news = true;
    }
    return count;
}

/* With a pool only net_transmit_copies() sends waiting packets. */
static unsigned send_waiting(struct virtio_net *net, unsigned limit)
{
    unsigned count = 0;

    while (count < limit && net->waiting.first != NULL && !net->bounces &&
           describe_frame(net, net->waiting.first) && put_into_ring(net, net->waiting.first)) {
        (void)packet_list_take(&net->waiting);
        count++;
    }
    return count;
}

unsigned net_transmit_copies(struct virtio_net *net, unsigned budget, virtio_lock_state *state)
{
    unsigned count = 0;

    while (count < budget && net->bounces && net->waiting.first != NULL) {
        /* The packet stays the first one while it is copied, so that no other one overtakes it. */
        struct virtio_net_packet *packet = net->waiting.first;

        if (!copy_into_ring(net, packet, net_bounce_frame_bytes(packet), state)) {
            break;
        }
        (void)packet_list_take(&net->waiting);
        count++;
    }
    return count;
}

unsigned net_transmit_service(struct virtio_net *net, unsigned budget)
{
    unsigned moved = 0;
    unsigned limit;
    unsigned count;

    /* While frames wait, collecting and sending get half of the budget each, so that a small budget
     * does not leave the ring empty. */
    do {
        limit = budget - moved;
        limit = net_at_most(net->waiting.first == NULL ? limit : (limit + 1) / 2, NET_BATCH);
        count = collect_finished(net, limit);
        moved += count;
        moved += send_waiting(net, budget - moved);
    } while (count == limit && moved < budget);
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

    /* No packet can cause an interrupt. But a thread that copies one settles afterwards, and may
     * have the slots that the waiting packets lack: the bottom half must not wait for it actively.
     */
    if (virtqueue_in_flight(ring) == 0) {
        return net->copying != 0;
    }
    /* Interrupt when the device has finished half of its packets: it then still has work while the
     * send queue is moved into the ring, and one interrupt serves many packets. */
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
        (void)net_transmit_service(net, net->parameters.interrupt_budget);
        net_check_queues(net);
    }
}

static bool queue_packet(struct virtio_net *net, struct virtio_net_packet *packet)
{
    if (net->waiting.count >= net->parameters.send_queue) {
        return false;
    }
    packet_list_append(&net->waiting, packet);
    return true;
}

/* Accepts a packet that is copied to the pool. */
static __attribute__((noinline)) bool accept_copy(struct virtio_net *net,
                                                  struct virtio_net_packet *packet,
                                                  virtio_lock_state *state)
{
    uint64_t bytes = net_bounce_frame_bytes(packet);

    if (!packet_valid(net, packet, bytes) || !net_bounce_fits(net, bytes)) {
        return false;
    }
    write_header(net, packet);
    if (net->waiting.first == NULL && copy_into_ring(net, packet, bytes, state)) {
        return true;
    }
    return net->state == NET_RUNNING && queue_packet(net, packet);
}

static bool accept_packet(struct virtio_net *net, struct virtio_net_packet *packet,
                          virtio_lock_state *state)
{
    if (net->state != NET_RUNNING) {
        return false;
    }
    /* Collecting finished packets may make an interrupt unnecessary. */
    if (net_transmit_needs_interrupt(net)) {
        (void)net_transmit_service(net, NET_BATCH);
        net_check_queues(net);
        if (net->state != NET_RUNNING) {
            return false;
        }
    }
    if (net->bounces) {
        return accept_copy(net, packet, state);
    }
    /* Only now, because net_transmit_service() also uses net->frame. */
    if (!describe_frame(net, packet) || !packet_valid(net, packet, net->frame.bytes)) {
        return false;
    }
    write_header(net, packet);
    return (net->waiting.first == NULL && put_into_ring(net, packet)) || queue_packet(net, packet);
}

bool virtio_net_transmit(struct virtio_net *net, struct virtio_net_packet *packet)
{
    virtio_lock_state state = virtio_platform_lock();
    bool accepted = accept_packet(net, packet, &state);

    if (accepted) {
        net->statistics.tx_accepted++;
    } else {
        net->statistics.tx_refused++;
    }
    /* The ring is or was full: notify the device now, do not wait for a flush. */
    if (net->waiting.first != NULL) {
        net_transmit_settle(net);
    }
    net_unlock(net, state);
    return accepted;
}

void virtio_net_flush(struct virtio_net *net)
{
    virtio_lock_state state = virtio_platform_lock();

    net_transmit_settle(net);
    net_unlock(net, state);
}

struct virtio_net_packet *virtio_net_transmitted(struct virtio_net *net)
{
    virtio_lock_state state = virtio_platform_lock();
    struct virtio_net_packet *packet;

    if (net->transmitted.first == NULL && net->state == NET_RUNNING) {
        unsigned moved = net_transmit_service(net, net->parameters.interrupt_budget);

        net_check_queues(net);
        if (moved != 0) {
            net_transmit_settle(net);
        }
    }
    packet = packet_list_take(&net->transmitted);
    if (packet != NULL) {
        net->statistics.tx_returned++;
    }
    net_unlock(net, state);
    return packet;
}

unsigned virtio_net_transmitting(const struct virtio_net *net)
{
    return (unsigned)(net->statistics.tx_accepted - net->statistics.tx_returned);
}

/* Clears the header, which is all zero without offloads (5.1.6.2). Most often it is zero already,
 * and then its cache line is not written. */
static inline void clear_header(uint8_t *memory)
{
    static const uint8_t cleared[VIRTIO_NET_HEADER_BYTES] = {0};

    if (memcmp(memory, cleared, sizeof(cleared)) != 0) {
        memset(memory, 0, sizeof(cleared));
    }
}

/* Returns true if the frame's length is valid. `limit`: maximum for a frame without a VLAN tag. */
static inline bool frame_length_valid(const struct virtio_net_buffer *buffer, uint32_t limit)
{
    if (buffer->frame_bytes > limit) {
        return buffer->frame_bytes <= limit + VLAN_TAG_BYTES &&
               has_vlan_tag(buffer->memory + VIRTIO_NET_HEADER_BYTES);
    }
    return buffer->frame_bytes >= ETHERNET_HEADER_BYTES;
}

unsigned virtio_net_transmit_burst(struct virtio_net *net, struct virtio_net_buffer *const *buffers,
                                   unsigned count)
{
    struct virtqueue_item items[VIRTIO_NET_BURST_MAX];
    uint32_t limit = (uint32_t)net->mtu + ETHERNET_HEADER_BYTES;
    uint64_t sum = 0;
    unsigned valid;

    if (net->state != NET_RUNNING) {
        return 0;
    }
    count = net_at_most(count, VIRTIO_NET_BURST_MAX);
    for (valid = 0; valid < count; valid++) {
        struct virtio_net_buffer *buffer = buffers[valid];

        if (!frame_length_valid(buffer, limit)) {
            break;
        }
        clear_header(buffer->memory);
        items[valid].token = buffer;
        items[valid].address = virtio_platform_dma_address(buffer->memory);
        items[valid].bytes = buffer->frame_bytes + VIRTIO_NET_HEADER_BYTES;
    }
    count = virtqueue_add_batch(&net->transmit.ring, items, valid, false);
    for (unsigned i = 0; i < count; i++) {
        sum += buffers[i]->frame_bytes;
    }
    net->statistics.tx_frames += count;
    net->statistics.tx_accepted += count;
    net->statistics.tx_bytes += sum;
    net_kick(net, &net->transmit);
    return count;
}

unsigned virtio_net_transmitted_burst(struct virtio_net *net, struct virtio_net_buffer **buffers,
                                      unsigned count)
{
    struct virtqueue_item items[VIRTIO_NET_BURST_MAX];

    if (net->state != NET_RUNNING) {
        return 0;
    }
    count =
        virtqueue_take_batch(&net->transmit.ring, items, net_at_most(count, VIRTIO_NET_BURST_MAX));
    for (unsigned i = 0; i < count; i++) {
        buffers[i] = items[i].token;
    }
    net->statistics.tx_returned += count;
    net_check_queues(net);
    return count;
}
