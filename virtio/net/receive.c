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
    virtio_address frame = virtio_platform_dma_address(buffer->memory) + VIRTIO_NET_HEADER_BYTES;
    struct virtqueue_segment segments[2] = {
        {frame - net->header_bytes, net->header_bytes},
        {frame, buffer->capacity - VIRTIO_NET_HEADER_BYTES},
    };

    if (net->header_alone) {
        return virtqueue_add(&net->receive.ring, segments, 0, 2, buffer);
    }
    segments[0].bytes += segments[1].bytes;
    return virtqueue_add(&net->receive.ring, segments, 0, 1, buffer);
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
            net_receive_short(net);
            return;
        }
        net->statistics.rx_buffers_taken++;
        if (buffer->capacity < net->receive_bytes || !expose(net, buffer)) {
            give_back(net, buffer);
            return;
        }
    }
}

static void finish_frame(struct virtio_net *net, struct virtio_net_buffer *frame)
{
    net->statistics.rx_frames++;
    for (const struct virtio_net_buffer *each = frame; each != NULL; each = each->rest) {
        net->statistics.rx_bytes += each->frame_bytes;
    }
    buffer_list_append(&net->received, frame);
}

/* The next buffer of a frame that fills several (5.1.6.4): data alone, from its first byte on. */
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
        return;
    }
    if (net->merge_left == 0) {
        net->merging = NULL;
        finish_frame(net, frame);
    }
}

/* How many buffers the frame fills. More than are with the device, or none: a lie, 0. */
static uint16_t frame_buffers(const struct virtio_net *net, const struct virtio_net_buffer *buffer)
{
    const volatile uint8_t *field = buffer->memory + HEADER_BUFFERS;
    unsigned buffers;

    if ((net->features & VIRTIO_NET_F_MRG_RXBUF) == 0) {
        return 1;
    }
    buffers = field[0];
    buffers |= (unsigned)field[1] << 8;
    return buffers <= virtqueue_in_flight(&net->receive.ring) + 1u ? (uint16_t)buffers : 0;
}

static void receive_bad(struct virtio_net *net, struct virtio_net_buffer *buffer)
{
    net->statistics.rx_bad++;
    if (!expose(net, buffer)) {
        give_back(net, buffer);
    }
}

/* `bytes` is at most the buffer's capacity: the queue saw to that. */
static void receive_one(struct virtio_net *net, struct virtio_net_buffer *buffer, uint32_t bytes)
{
    uint8_t flags;

    if (net->merging != NULL) {
        receive_rest(net, buffer, bytes);
        return;
    }
    if (bytes < net->header_bytes + ETHERNET_HEADER_BYTES) {
        receive_bad(net, buffer);
        return;
    }
    buffer->buffers = frame_buffers(net, buffer);
    if (buffer->buffers == 0) {
        receive_bad(net, buffer);
        net_stop_broken(net, "a frame in more buffers than the device has, or in none");
        return;
    }
    /* Otherwise only the flags are looked at: the stack has no use for the other fields. Without
     * GUEST_CSUM a device has no business setting flags (5.1.6.4.1), and unknown ones are ignored
     * (5.1.6.4.2). */
    flags =
        *(const volatile uint8_t *)(buffer->memory + VIRTIO_NET_HEADER_BYTES - net->header_bytes);
    buffer->checksum_valid = (net->features & VIRTIO_NET_F_GUEST_CSUM) != 0 &&
                             (flags & (HEADER_NEEDS_CHECKSUM | HEADER_DATA_VALID)) != 0;
    buffer->frame_bytes = bytes - net->header_bytes;
    buffer->rest = NULL;
    if (buffer->buffers == 1) {
        finish_frame(net, buffer);
        return;
    }
    net->merging = buffer;
    net->merged = buffer;
    net->merge_left = (uint16_t)(buffer->buffers - 1u);
}

unsigned net_receive_service(struct virtio_net *net, unsigned budget)
{
    struct virtio_net_buffer *buffer;
    uint32_t bytes;
    unsigned moved = 0;

    while (moved < budget && net->state != NET_BROKEN &&
           (buffer = virtqueue_take(&net->receive.ring, &bytes)) != NULL) {
        receive_one(net, buffer, bytes);
        moved++;
    }
    if (net->state != NET_BROKEN) {
        net_receive_adapt(net, moved);
        net_receive_expose(net);
    }
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
        net->delivered += buffer->buffers;
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
