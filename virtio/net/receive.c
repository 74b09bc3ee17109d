/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Receiving: buffers to the device, frames to the bottom half. The paper's empty ring (3.3):
 * however many entries the ring has, `exposed_target` buffers are with the device, and each one
 * that comes back is replaced at once. Where there is none to replace it with, the difference is
 * made up at the next occasion: any interrupt, the bottom half, virtio_net_refill().
 */
#include "net_private.h"

static bool expose(struct virtio_net *net, struct virtio_net_buffer *buffer)
{
    /* The header ends where the frame begins, whatever its size (5.1.6.3.1). */
    struct virtqueue_segment segments[2] = {{
        .address = virtio_platform_dma_address(buffer->memory) + VIRTIO_NET_HEADER_BYTES,
        .bytes = buffer->capacity - VIRTIO_NET_HEADER_BYTES,
    }};
    unsigned count = net_put_header(net, segments, 1);

    return virtqueue_add(&net->receive.ring, segments, 0, count, buffer);
}

static void give_back(struct virtio_net *net, struct virtio_net_buffer *buffer)
{
    net->statistics.rx_buffers_returned++;
    net->operations->return_buffer(net->context, buffer);
}

void net_receive_expose(struct virtio_net *net)
{
    while (virtqueue_in_flight(&net->receive.ring) < net->exposed_target &&
           net->receive.ring.broken == NULL) {
        struct virtio_net_buffer *buffer = net->operations->receive_buffer(net->context);

        if (buffer == NULL) {
            net->statistics.rx_refill_failures++;
            return;
        }
        net->statistics.rx_buffers_taken++;
        if (buffer->capacity < net->receive_bytes || !expose(net, buffer)) {
            give_back(net, buffer);
            return;
        }
    }
}

/* `bytes` is at most the buffer's capacity: the queue saw to that. */
static void receive_one(struct virtio_net *net, struct virtio_net_buffer *buffer, uint32_t bytes)
{
    uint8_t flags;

    if (bytes < net->header_bytes + ETHERNET_HEADER_BYTES) {
        net->statistics.rx_bad++;
        if (!expose(net, buffer)) {
            give_back(net, buffer);
        }
        return;
    }
    /* Of the header only the flags are looked at: no other field means anything with the features
     * accepted. Without GUEST_CSUM a device has no business setting them (5.1.6.4.1), and unknown
     * ones are ignored (5.1.6.4.2). */
    flags =
        *(const volatile uint8_t *)(buffer->memory + VIRTIO_NET_HEADER_BYTES - net->header_bytes);
    buffer->checksum_valid = (net->features & VIRTIO_NET_F_GUEST_CSUM) != 0 &&
                             (flags & (HEADER_NEEDS_CHECKSUM | HEADER_DATA_VALID)) != 0;
    buffer->frame_bytes = bytes - net->header_bytes;
    net->statistics.rx_frames++;
    net->statistics.rx_bytes += buffer->frame_bytes;
    buffer_list_append(&net->received, buffer);
}

unsigned net_receive_service(struct virtio_net *net, unsigned budget)
{
    struct virtio_net_buffer *buffer;
    uint32_t bytes;
    unsigned moved = 0;

    while (moved < budget && (buffer = virtqueue_take(&net->receive.ring, &bytes)) != NULL) {
        receive_one(net, buffer, bytes);
        moved++;
    }
    net_receive_expose(net);
    return moved;
}

struct virtio_net_buffer *virtio_net_receive(struct virtio_net *net)
{
    struct virtio_net_buffer *buffer;

    if (net->fetched.first == NULL) {
        virtio_lock_state state = net_enter();

        net->fetched = net->received;
        net->received = (struct buffer_list){0};
        net_leave(net, state);
    }
    buffer = buffer_list_take(&net->fetched);
    if (buffer != NULL) {
        net->delivered++;
    }
    return buffer;
}

void virtio_net_refill(struct virtio_net *net)
{
    virtio_lock_state state = net_enter();

    if (net->state == NET_RUNNING) {
        net_receive_expose(net);
        net_kick(net, &net->receive);
    }
    net_leave(net, state);
}
