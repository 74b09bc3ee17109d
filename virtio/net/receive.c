/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Receives frames: exposes buffers to the device, and passes used ones to the bottom half. This is
 * the paper's empty ring (3.3): however many entries the ring has, `exposed_target` buffers are
 * with the device, and each used buffer is replaced at once. If the owner has no buffer, the
 * replacement follows on the next occasion: an interrupt, the bottom half, virtio_net_refill().
 *
 * A thread that polls (virtio/net_burst.h) does all of this itself, without lock and lists.
 */
#include "net_private.h"
#include "virtio/net_burst.h"

/* The steps of the bottom half are compiled twice, because undivided they take fewer instructions.
 */
#define ALWAYS_INLINE inline __attribute__((always_inline))

/* Adds buffers to the ring. Returns their number. */
static inline unsigned add_to_ring(struct virtio_net *net, const struct virtqueue_item *items,
                                   unsigned count)
{
    if (!net->header_alone) {
        return virtqueue_add_batch(&net->receive.ring, items, count, true);
    }
    for (unsigned i = 0; i < count; i++) {
        struct virtqueue_segment segments[2] = {
            {items[i].address, net->header_bytes},
            {items[i].address + net->header_bytes, items[i].bytes - net->header_bytes},
        };

        if (!virtqueue_add(&net->receive.ring, segments, 0, 2, items[i].token)) {
            return i;
        }
    }
    return count;
}

/* As expose(), with slots of the pool in place of the buffers. */
static __attribute__((noinline)) unsigned expose_slots(struct virtio_net *net,
                                                       struct virtio_net_buffer *const *buffers,
                                                       unsigned count, struct virtqueue_item *items)
{
    unsigned slots = net_bounce_describe(net, buffers, count, items);
    unsigned added = add_to_ring(net, items, slots);

    for (unsigned i = added; i < slots; i++) {
        (void)virtio_bounce_release(&net->receive_slots, items[i].token);
    }
    return added;
}

/* Exposes buffers to the device. Stops at the first that is too small or has no room in the ring.
 * Returns the number of buffers exposed. `items` has room for `count`. The caller supplies it,
 * because an interrupt handler's stack has less room than a burst needs. */
static inline unsigned expose(struct virtio_net *net, struct virtio_net_buffer *const *buffers,
                              unsigned count, struct virtqueue_item *items)
{
    unsigned usable;

    if (net->bounces) {
        return expose_slots(net, buffers, count, items);
    }
    for (usable = 0; usable < count && buffers[usable]->capacity >= net->parameters.receive_bytes;
         usable++) {
        /* The header ends where the frame begins, whatever its size (5.1.6.3.1). */
        uint32_t unused = VIRTIO_NET_HEADER_BYTES - net->header_bytes;

        items[usable].token = buffers[usable];
        items[usable].address = virtio_platform_dma_address(buffers[usable]->memory) + unused;
        items[usable].bytes = buffers[usable]->capacity - unused;
    }
    return add_to_ring(net, items, usable);
}

static void return_to_owner(struct virtio_net *net, struct virtio_net_buffer *buffer)
{
    net->statistics.rx_buffers_returned++;
    net->operations->return_buffer(net->context, buffer);
}

/* Exposes buffers up to the target, as many as the owner has. `items` has room for NET_BATCH.
 * `state`: as in net_receive_service(). */
static ALWAYS_INLINE void expose_steps(struct virtio_net *net, struct virtqueue_item *items,
                                       virtio_lock_state *state)
{
    struct virtio_net_buffer *buffers[NET_BATCH];
    unsigned exposed = virtqueue_in_flight(&net->receive.ring);

    while (exposed < net->exposed_target && net->receive.ring.broken == NULL) {
        unsigned wanted = net_at_most(net->exposed_target - exposed, NET_BATCH);
        unsigned count;
        unsigned done;

        for (count = 0; count < wanted; count++) {
            buffers[count] = net->operations->receive_buffer(net->context);
            if (buffers[count] == NULL) {
                break;
            }
        }
        net->statistics.rx_buffers_taken += count;
        done = net_allow_interrupts(net, state) ? expose(net, buffers, count, items) : 0;
        exposed += done;
        for (unsigned i = done; i < count; i++) {
            return_to_owner(net, buffers[i]);
        }
        if (count < wanted) {
            net_receive_short(net);
        }
        if (done < wanted) {
            return;
        }
        if (exposed < net->exposed_target) {
            if (!net_allow_interrupts(net, state)) {
                return;
            }
            exposed = virtqueue_in_flight(&net->receive.ring);
        }
    }
}

static __attribute__((noinline)) void expose_to_target(struct virtio_net *net,
                                                       struct virtqueue_item *items)
{
    expose_steps(net, items, NULL);
}

void net_receive_expose(struct virtio_net *net)
{
    struct virtqueue_item items[NET_BATCH];

    expose_to_target(net, items);
}

static inline uint16_t read_header16(const volatile uint8_t *field)
{
    return (uint16_t)(field[0] | field[1] << 8);
}

/* Reads gso_type and gso_size. A type that was not negotiated, or without a size, counts as none: a
 * device must not set it (5.1.6.4.1). */
static void read_segmentation(const struct virtio_net *net, struct virtio_net_buffer *buffer,
                              const volatile uint8_t *header)
{
    uint8_t type = header[HEADER_GSO_TYPE];
    bool is_accepted =
        (type == VIRTIO_NET_GSO_TCPV4 && (net->features & VIRTIO_NET_F_GUEST_TSO4) != 0) ||
        (type == VIRTIO_NET_GSO_TCPV6 && (net->features & VIRTIO_NET_F_GUEST_TSO6) != 0);

    buffer->gso_bytes = read_header16(header + HEADER_GSO_BYTES);
    buffer->gso_type =
        is_accepted && buffer->gso_bytes != 0 ? (enum virtio_net_gso)type : VIRTIO_NET_GSO_NONE;
}

/* NEEDS_CSUM: reads csum_start and csum_offset (5.1.6.4), and how the frame was made of segments,
 * for which NEEDS_CSUM has to be set, too. Not inlined, because most frames do not need it. */
static __attribute__((noinline)) void read_partial_checksum(const struct virtio_net *net,
                                                            struct virtio_net_buffer *buffer,
                                                            const volatile uint8_t *header)
{
    read_segmentation(net, buffer, header);
    buffer->checksum = VIRTIO_NET_CHECKSUM_PARTIAL;
    buffer->checksum_start = read_header16(header + HEADER_CHECKSUM_START);
    buffer->checksum_offset = read_header16(header + HEADER_CHECKSUM_OFFSET);
}

/* Reads the flags of the header, and the fields that they say are valid. */
static inline void read_checksum(const struct virtio_net *net, struct virtio_net_buffer *buffer)
{
    const volatile uint8_t *header = buffer->memory + VIRTIO_NET_HEADER_BYTES - net->header_bytes;
    uint8_t flags = header[0];

    if ((flags & HEADER_NEEDS_CHECKSUM) != 0) {
        read_partial_checksum(net, buffer, header);
    } else if ((flags & HEADER_DATA_VALID) != 0) {
        buffer->checksum = VIRTIO_NET_CHECKSUM_VALID;
    }
}

/* Fills in the fields of a buffer that the device has used. `bytes` were written, at most its
 * capacity, which the queue has checked. Returns false if they are too few for a frame. */
static inline bool describe_received(const struct virtio_net *net, struct virtio_net_buffer *buffer,
                                     uint32_t bytes)
{
    /* Without GUEST_CSUM a device must set no flags (5.1.6.4.1), and unknown flags are ignored
     * (5.1.6.4.2), so the header is not read: it may be in a cache line that is needed for nothing
     * else. */
    buffer->checksum = VIRTIO_NET_CHECKSUM_UNKNOWN;
    if ((net->features & VIRTIO_NET_F_GUEST_CSUM) != 0) {
        read_checksum(net, buffer);
    }
    buffer->frame_bytes = bytes - net->header_bytes;
    buffer->buffers = 1;
    buffer->rest = NULL;
    return bytes >= net->header_bytes + ETHERNET_HEADER_BYTES;
}

static void expose_again(struct virtio_net *net, struct virtio_net_buffer *buffer)
{
    struct virtqueue_item item;

    net->statistics.rx_bad++;
    if (expose(net, &buffer, 1, &item) == 0) {
        return_to_owner(net, buffer);
    }
}

/* A device that places the checksum outside the frame has not verified it (5.1.6.4.1). */
static __attribute__((noinline)) void check_partial_checksum(struct virtio_net_buffer *frame,
                                                             uint32_t bytes)
{
    if ((uint32_t)frame->checksum_start + frame->checksum_offset + 2u > bytes) {
        frame->checksum = VIRTIO_NET_CHECKSUM_UNKNOWN;
    }
}

static inline void finish_frame(struct virtio_net *net, struct virtio_net_buffer *frame)
{
    uint32_t bytes = 0;

    for (const struct virtio_net_buffer *each = frame; each != NULL; each = each->rest) {
        bytes += each->frame_bytes;
    }
    net->statistics.rx_frames++;
    net->statistics.rx_bytes += bytes;
    if (frame->checksum == VIRTIO_NET_CHECKSUM_PARTIAL) {
        check_partial_checksum(frame, bytes);
    }
    buffer_list_append(&net->received, frame);
}

/* Adds the next buffer of a frame that fills several (5.1.6.4). It contains data only, without a
 * header. */
static void receive_rest(struct virtio_net *net, struct virtio_net_buffer *buffer, uint32_t bytes)
{
    struct virtio_net_buffer *frame = net->merging;

    buffer->frame_bytes = bytes;
    buffer->rest = NULL;
    net->merged->rest = buffer;
    net->merged = buffer;
    net->merge_left--;
    if (bytes == 0) {
        net_stop_broken(net, "an empty buffer in the middle of a frame");
    } else if (net->merge_left == 0) {
        net->merging = NULL;
        finish_frame(net, frame);
    }
}

/* Handles the first or only buffer of a frame. `others`: the buffers that can follow it, used or
 * with the device. */
static void receive_first(struct virtio_net *net, struct virtio_net_buffer *buffer, uint32_t bytes,
                          unsigned others)
{
    if (!describe_received(net, buffer, bytes)) {
        expose_again(net, buffer);
        return;
    }
    if ((net->features & VIRTIO_NET_F_MRG_RXBUF) != 0) {
        buffer->buffers = read_header16(buffer->memory + HEADER_BUFFERS);
        if (buffer->buffers == 0 || buffer->buffers > others + 1u) {
            expose_again(net, buffer);
            net_stop_broken(net, "a frame in more buffers than the device has, or in none");
            return;
        }
    }
    if (buffer->buffers == 1) {
        finish_frame(net, buffer);
        return;
    }
    net->merging = buffer;
    net->merged = buffer;
    net->merge_left = (uint16_t)(buffer->buffers - 1u);
}

static void receive_items(struct virtio_net *net, const struct virtqueue_item *items,
                          unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        if (net->state != NET_RUNNING) { /* broken: found while an earlier buffer was handled */
            return_to_owner(net, items[i].token);
        } else if (net->merging != NULL) {
            receive_rest(net, items[i].token, items[i].bytes);
        } else {
            receive_first(net, items[i].token, items[i].bytes,
                          virtqueue_in_flight(&net->receive.ring) + count - i - 1u);
        }
    }
}

/* The same items are used for taking and for exposing, because an interrupt handler's stack is
 * small.
 */
static ALWAYS_INLINE unsigned service_steps(struct virtio_net *net, unsigned budget,
                                            virtio_lock_state *state)
{
    struct virtqueue_item items[NET_BATCH];
    unsigned moved = 0;
    unsigned limit;
    unsigned count;

    do {
        limit = net_at_most(budget - moved, NET_BATCH);
        count = virtqueue_take_batch(&net->receive.ring, items, limit);
        if (count != 0) {
            (void)net_allow_interrupts(net, state); /* receive_items() may find the device broken */
            if (net->bounces) {
                net_bounce_received(net, items, count, state);
            }
            receive_items(net, items, count);
        }
        moved += count;
    } while (count == limit && moved < budget && net->state == NET_RUNNING);
    if (net->state != NET_RUNNING) {
        return moved;
    }
    if (moved != 0 || budget == 0) {
        net_receive_adapt(net, moved, moved >= budget);
    } else {
        net->used_left_over =
            0; /* like net_receive_adapt() after a turn that found no used buffer */
    }
    if (virtqueue_in_flight(&net->receive.ring) < net->exposed_target) {
        if (state == NULL) {
            expose_to_target(net, items);
        } else {
            expose_steps(net, items, state);
        }
    }
    return moved;
}

static __attribute__((noinline)) unsigned service_divided(struct virtio_net *net, unsigned budget,
                                                          virtio_lock_state *state)
{
    return service_steps(net, budget, state);
}

unsigned net_receive_service(struct virtio_net *net, unsigned budget, virtio_lock_state *state)
{
    return state == NULL ? service_steps(net, budget, NULL) : service_divided(net, budget, state);
}

struct virtio_net_buffer *virtio_net_receive(struct virtio_net *net)
{
    struct virtio_net_buffer *buffer;

    if (net->fetched.first == NULL) {
        virtio_lock_state state = virtio_platform_lock();

        net->fetched = net->received;
        net->received = (struct buffer_list){0};
        net_unlock(net, state);
    }
    buffer = buffer_list_take(&net->fetched);
    if (buffer != NULL) {
        net->delivered += buffer->buffers;
    }
    return buffer;
}

void virtio_net_refill(struct virtio_net *net)
{
    virtio_lock_state state = virtio_platform_lock();

    if (net->state == NET_RUNNING) {
        net_receive_expose(net);
        net_kick(net, &net->receive);
    }
    net_unlock(net, state);
}

unsigned virtio_net_expose_burst(struct virtio_net *net, struct virtio_net_buffer *const *buffers,
                                 unsigned count)
{
    struct virtqueue_item items[VIRTIO_NET_BURST_MAX];

    if (net->state != NET_RUNNING) {
        return 0;
    }
    count = expose(net, buffers, net_at_most(count, VIRTIO_NET_BURST_MAX), items);
    net->statistics.rx_buffers_taken += count;
    net_kick(net, &net->receive);
    return count;
}

unsigned virtio_net_receive_burst(struct virtio_net *net, struct virtio_net_buffer **buffers,
                                  unsigned count)
{
    struct virtqueue_item items[VIRTIO_NET_BURST_MAX];
    uint64_t sum = 0;
    unsigned good = 0;

    if (net->state != NET_RUNNING) {
        return 0;
    }
    count =
        virtqueue_take_batch(&net->receive.ring, items, net_at_most(count, VIRTIO_NET_BURST_MAX));
    for (unsigned i = 0; i < count; i++) {
        struct virtio_net_buffer *buffer = items[i].token;

        if (describe_received(net, buffer, items[i].bytes)) {
            sum += buffer->frame_bytes;
            buffers[good++] = buffer;
        } else {
            expose_again(net, buffer);
        }
    }
    net->statistics.rx_frames += good;
    net->statistics.rx_bytes += sum;
    net->statistics.rx_buffers_returned += good;
    net_check_queues(net);
    return good;
}
