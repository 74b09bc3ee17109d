/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bounce buffers of a device that can access only a pool (virtio/pool.h), which it may write to at
 * any time. Frames are copied between slots in the pool and the memory of the owner: a received
 * frame before the driver reads a byte of it, a frame to send with its header. The records of the
 * slots are in private memory.
 */
#include "net_private.h"
#include <string.h>

/* A frame to send fills several slots, so that frames of all sizes share them without gaps. */
#define TRANSMIT_SLOT_BYTES 2048u
#define FRAME_BYTES_MAX     (VIRTIO_NET_HEADER_BYTES + VIRTIO_NET_GSO_FRAME_MAX + VLAN_TAG_BYTES)
#define FRAME_SLOTS_MAX     ((FRAME_BYTES_MAX + TRANSMIT_SLOT_BYTES - 1u) / TRANSMIT_SLOT_BYTES)

/* Each direction gets 3/8 of a pair's part of the pool for its slots. The rings take less than the
 * rest, because their sizes follow the numbers of slots, unless the device dictates them. */
#define SLOTS_SHARE            3u
#define SLOTS_SHARE_OF         8u
#define POOL_BYTES_OF_TX_ENTRY 1024u

_Static_assert(FRAME_SLOTS_MAX <= VIRTIO_NET_FRAME_SEGMENTS_MAX, "net_frame describes the slots");
_Static_assert(VIRTIO_POOL_BYTES_MIN / SLOTS_SHARE_OF * SLOTS_SHARE / TRANSMIT_SLOT_BYTES >=
                   FRAME_SLOTS_MAX,
               "the smallest pool holds the largest frame");

uint16_t net_bounce_pairs(const struct virtio_pool *pool, uint16_t pairs)
{
    size_t fit = virtio_pool_free_bytes(pool) / VIRTIO_POOL_BYTES_MIN;

    if (fit >= pairs) {
        return pairs;
    }
    return fit != 0 ? (uint16_t)fit : 1;
}

static uint32_t receive_slot_bytes(const struct virtio_net *net)
{
    return (net->parameters.receive_bytes + CACHE_LINE_BYTES - 1u) & ~(CACHE_LINE_BYTES - 1u);
}

bool net_bounce_plan(struct virtio_net *net, const char **reason)
{
    struct virtio_net_parameters *parameters = &net->parameters;
    size_t share = virtio_pool_free_bytes(net->device->pool) / net->device->room;
    size_t slots_bytes = share / SLOTS_SHARE_OF * SLOTS_SHARE;
    size_t receive_slots =
        parameters->receive_bytes <= slots_bytes ? slots_bytes / receive_slot_bytes(net) : 0;
    size_t entries = share / POOL_BYTES_OF_TX_ENTRY;

    if (parameters->polling) {
        *reason = "it has a pool, which a driver that polls does not use";
        return false;
    }
    if (share < VIRTIO_POOL_BYTES_MIN || receive_slots == 0) {
        *reason = "its pool has too little free memory";
        return false;
    }
    receive_slots = receive_slots < UINT16_MAX ? receive_slots : UINT16_MAX;
    entries = entries < UINT16_MAX ? entries : UINT16_MAX;
    parameters->rx_buffers = net_at_most(parameters->rx_buffers, (unsigned)receive_slots);
    parameters->rx_buffers_max = net_at_most(parameters->rx_buffers_max, (unsigned)receive_slots);
    parameters->tx_ring = net_at_most(parameters->tx_ring, (unsigned)entries);
    /* An interrupt handler must be short, so it copies no frames: the bottom half does. */
    parameters->deferred = true;
    net->bounces = true;
    net->transmit_slots_bytes = slots_bytes;
    return true;
}

/* Returns the number of entries of the first transmit ring that are left for data. */
static unsigned data_entries(const struct virtio_net *net)
{
    struct virtio_transport *transport = net->transport;
    uint16_t limit = transport->operations->queue_size_max(transport, 1);
    unsigned size =
        transport->queue_size_fixed ? limit : net_ring_size(net->parameters.tx_ring, limit);

    return size != 0 ? size - (unsigned)transport->legacy : 0;
}

uint64_t net_bounce_refused(struct virtio_net *net)
{
    unsigned entries = data_entries(net);
    uint32_t mtu = entries * TRANSMIT_SLOT_BYTES - VIRTIO_NET_HEADER_BYTES - ETHERNET_HEADER_BYTES -
                   VLAN_TAG_BYTES;

    if (entries >= FRAME_SLOTS_MAX) {
        return 0;
    }
    if (entries != 0) {
        net->parameters.mtu_max = net_at_most(net->parameters.mtu_max, mtu);
    }
    return VIRTIO_NET_F_HOST_TSO4 | VIRTIO_NET_F_HOST_TSO6;
}

bool net_bounce_create(struct virtio_net *net, const char **reason)
{
    struct virtio_pool *pool = net->device->pool;
    size_t fit = net->transmit_slots_bytes / TRANSMIT_SLOT_BYTES;
    unsigned size = net->transmit.ring.size;
    size_t wanted = (size_t)size * 2;
    unsigned count = (unsigned)(fit < wanted ? fit : wanted);
    unsigned entries = size - (unsigned)net->header_alone;

    *reason = "no memory for the frames in its pool";
    net->frame_slots_max = net_at_most(FRAME_SLOTS_MAX, count < entries ? count : entries);
    net->segments_max = VIRTIO_NET_FRAME_SEGMENTS_MAX;
    return virtio_bounce_create(&net->receive_slots, pool, net->parameters.rx_buffers_max,
                                receive_slot_bytes(net)) &&
           virtio_bounce_create(&net->transmit_slots, pool, net_at_most(count, UINT16_MAX),
                                TRANSMIT_SLOT_BYTES);
}

void net_bounce_free(struct virtio_net *net)
{
    virtio_bounce_destroy(&net->receive_slots);
    virtio_bounce_destroy(&net->transmit_slots);
}

void net_bounce_finished(struct virtio_bounce *slots, struct virtqueue_item *items, unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        items[i].token = virtio_bounce_release(slots, items[i].token);
    }
}

unsigned net_bounce_describe(struct virtio_net *net, struct virtio_net_buffer *const *buffers,
                             unsigned count, struct virtqueue_item *items)
{
    uint32_t unused = VIRTIO_NET_HEADER_BYTES - net->header_bytes;
    unsigned i;

    for (i = 0; i < count && buffers[i]->capacity >= net->parameters.receive_bytes; i++) {
        struct virtio_bounce_slot *slot = virtio_bounce_take(&net->receive_slots, 1);
        uint32_t room = buffers[i]->capacity - unused;

        if (slot == NULL) {
            break;
        }
        slot->owner = buffers[i];
        items[i].token = slot;
        items[i].address = slot->address;
        items[i].bytes = room < net->receive_slots.bytes ? room : net->receive_slots.bytes;
    }
    return i;
}

/* The queue has checked the lengths: they are at most those that were exposed. */
static void copy_received(const struct virtio_net *net, const struct virtqueue_item *items,
                          unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        const struct virtio_bounce_slot *slot = items[i].token;
        const struct virtio_net_buffer *buffer = slot->owner;

        memcpy(buffer->memory + VIRTIO_NET_HEADER_BYTES - net->header_bytes, slot->memory,
               items[i].bytes);
    }
}

void net_bounce_received(struct virtio_net *net, struct virtqueue_item *items, unsigned count,
                         virtio_lock_state *state)
{
    if (state != NULL) {
        net_unlock(net, *state);
    }
    copy_received(net, items, count);
    if (state != NULL) {
        *state = virtio_platform_lock();
    }
    net_bounce_finished(&net->receive_slots, items, count);
}

uint64_t net_bounce_frame_bytes(const struct virtio_net_packet *packet)
{
    unsigned segments = 0;
    uint64_t bytes = 0;

    for (; packet != NULL; packet = packet->rest) {
        segments += packet->segment_count;
        if (packet->segment_count == 0 || packet->segment_count > VIRTIO_NET_SEGMENTS_MAX ||
            segments > VIRTIO_NET_FRAME_SEGMENTS_MAX) {
            return 0;
        }
        for (unsigned i = 0; i < packet->segment_count; i++) {
            if (packet->segment[i].bytes == 0) {
                return 0;
            }
            bytes += packet->segment[i].bytes;
        }
    }
    return bytes;
}

static unsigned slots_of(const struct virtio_net *net, uint64_t bytes)
{
    return (unsigned)((bytes + net->header_bytes + TRANSMIT_SLOT_BYTES - 1u) / TRANSMIT_SLOT_BYTES);
}

bool net_bounce_fits(const struct virtio_net *net, uint64_t bytes)
{
    return slots_of(net, bytes) <= net->frame_slots_max;
}

struct virtio_bounce_slot *net_bounce_reserve(struct virtio_net *net, uint64_t bytes)
{
    unsigned count = slots_of(net, bytes);

    return virtqueue_has_room(&net->transmit.ring, count + (unsigned)net->header_alone)
               ? virtio_bounce_take(&net->transmit_slots, count)
               : NULL;
}

void net_bounce_copy(const struct virtio_net *net, const struct virtio_bounce_slot *slot,
                     const struct virtio_net_packet *packet)
{
    struct virtio_bounce_place place = {.slot = slot};
    uint32_t header = net->header_bytes;

    for (; packet != NULL; packet = packet->rest) {
        for (unsigned i = 0; i < packet->segment_count; i++) {
            const struct virtio_net_segment *segment = &packet->segment[i];

            virtio_bounce_write(&net->transmit_slots, &place, segment->memory - header,
                                segment->bytes + header);
            header = 0;
        }
    }
}

/* Describes the slots of a frame of `bytes` bytes in net->frame. */
static void describe_slots(struct virtio_net *net, const struct virtio_bounce_slot *slot,
                           uint64_t bytes)
{
    struct net_frame *frame = &net->frame;
    uint32_t rest = (uint32_t)bytes + net->header_bytes;
    uint32_t header = net->header_alone ? net->header_bytes : 0;

    frame->count = 0;
    if (header != 0) {
        frame->segments[frame->count++] = (struct virtqueue_segment){slot->address, header};
    }
    for (; slot != NULL; slot = slot->next) {
        uint32_t piece = rest < TRANSMIT_SLOT_BYTES ? rest : TRANSMIT_SLOT_BYTES;

        frame->segments[frame->count++] =
            (struct virtqueue_segment){slot->address + header, piece - header};
        rest -= piece;
        header = 0;
    }
}

bool net_bounce_add(struct virtio_net *net, struct virtio_bounce_slot *slot,
                    struct virtio_net_packet *packet, uint64_t bytes)
{
    slot->owner = packet;
    describe_slots(net, slot, bytes);
    if (net->state != NET_RUNNING ||
        !virtqueue_add(&net->transmit.ring, net->frame.segments, net->frame.count, 0, slot)) {
        (void)virtio_bounce_release(&net->transmit_slots, slot);
        return false;
    }
    return true;
}
