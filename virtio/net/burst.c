/* SPDX-License-Identifier: BSD-2-Clause */
/* The driver's fast way, for one thread that polls: no lock, no lists, a call for many frames. */
#include "net_private.h"
#include "virtio/net_burst.h"
#include <string.h>

static inline unsigned at_most(unsigned count)
{
    return count < VIRTIO_NET_BURST_MAX ? count : VIRTIO_NET_BURST_MAX;
}

unsigned virtio_net_expose_burst(struct virtio_net *net, struct virtio_net_buffer *const *buffers,
                                 unsigned count)
{
    struct virtqueue_item items[VIRTIO_NET_BURST_MAX];
    unsigned usable;

    if (net->state != NET_RUNNING) {
        return 0;
    }
    count = at_most(count);
    for (usable = 0; usable < count && buffers[usable]->capacity >= net->receive_bytes; usable++) {
        items[usable].token = buffers[usable];
        items[usable].address = virtio_platform_dma_address(buffers[usable]->memory);
        items[usable].bytes = buffers[usable]->capacity;
    }
    count = virtqueue_add_batch(&net->receive.ring, items, usable, true);
    net->statistics.rx_buffers_taken += count;
    net_kick(net, &net->receive);
    return count;
}

/* Back to the device, or to the owner. */
static void reuse(struct virtio_net *net, struct virtio_net_buffer *buffer)
{
    net->statistics.rx_bad++;
    net->statistics.rx_buffers_returned++;
    if (virtio_net_expose_burst(net, &buffer, 1) == 0) {
        net->operations->return_buffer(net->context, buffer);
    }
}

/* 5.1.6.4: as in receive.c. Without GUEST_CSUM nothing of the header matters, and it is not read:
 * it may lie in a line of the cache that nobody else needs. */
static inline bool checksum_valid(const struct virtio_net *net,
                                  const struct virtio_net_buffer *buffer)
{
    return (net->features & VIRTIO_NET_F_GUEST_CSUM) != 0 &&
           (*(const volatile uint8_t *)buffer->memory &
            (HEADER_NEEDS_CHECKSUM | HEADER_DATA_VALID)) != 0;
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
    count = virtqueue_take_batch(&net->receive.ring, items, at_most(count));
    for (unsigned i = 0; i < count; i++) {
        struct virtio_net_buffer *buffer = items[i].token;

        if (items[i].bytes < VIRTIO_NET_HEADER_BYTES + ETHERNET_HEADER_BYTES) {
            reuse(net, buffer);
            continue;
        }
        buffer->frame_bytes = items[i].bytes - VIRTIO_NET_HEADER_BYTES;
        buffer->buffers = 1;
        buffer->rest = NULL;
        buffer->checksum_valid = checksum_valid(net, buffer);
        sum += buffer->frame_bytes;
        buffers[good++] = buffer;
    }
    net->statistics.rx_frames += good;
    net->statistics.rx_bytes += sum;
    net->statistics.rx_buffers_returned += good;
    net_check(net);
    return good;
}

/* 5.1.6.2: all zero without offloads. Most often it is so already, and then the line it is in stays
 * as it is. */
static inline void clear_header(uint8_t *memory)
{
    static const uint8_t cleared[VIRTIO_NET_HEADER_BYTES] = {0};

    if (memcmp(memory, cleared, sizeof(cleared)) != 0) {
        memset(memory, 0, sizeof(cleared));
    }
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
    count = at_most(count);
    for (valid = 0; valid < count; valid++) {
        struct virtio_net_buffer *buffer = buffers[valid];

        if (buffer->frame_bytes - ETHERNET_HEADER_BYTES > limit - ETHERNET_HEADER_BYTES) {
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
    count = virtqueue_take_batch(&net->transmit.ring, items, at_most(count));
    for (unsigned i = 0; i < count; i++) {
        buffers[i] = items[i].token;
    }
    net->statistics.tx_returned += count;
    net_check(net);
    return count;
}
