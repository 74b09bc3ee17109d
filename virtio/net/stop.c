/* SPDX-License-Identifier: BSD-2-Clause */
/* Taking the network device down: what the device had comes back once it has confirmed a reset
 * (2.4.1). */
#include "net_private.h"

/* Critical sections of one item each: there can be many. */
static void return_buffers(struct virtio_net *net, struct virtio_net_buffer *buffer)
{
    while (buffer != NULL) {
        struct virtio_net_buffer *rest = buffer->rest;
        virtio_lock_state state = net_enter();

        net->statistics.rx_buffers_returned++;
        net->operations->return_buffer(net->context, buffer);
        net_leave(net, state);
        buffer = rest;
    }
}

static void finish_packet(struct virtio_net *net, struct virtio_net_packet *packet)
{
    virtio_lock_state state = net_enter();

    packet_list_append(&net->transmitted, packet);
    net_leave(net, state);
}

/* What the driver itself holds. */
static void return_held(struct virtio_net *net)
{
    struct virtio_net_buffer *buffer;
    struct virtio_net_packet *packet;

    while ((buffer = buffer_list_take(&net->fetched)) != NULL ||
           (buffer = buffer_list_take(&net->received)) != NULL) {
        return_buffers(net, buffer);
    }
    buffer = net->merging;
    net->merging = NULL;
    return_buffers(net, buffer);
    while ((packet = packet_list_take(&net->waiting)) != NULL) {
        finish_packet(net, packet);
    }
}

/* What the device held until it confirmed the reset. */
static void return_exposed(struct virtio_net *net)
{
    struct virtio_net_buffer *buffer;
    struct virtio_net_packet *packet;
    uint16_t position = 0;

    while ((buffer = virtqueue_detach(&net->receive.ring, &position)) != NULL) {
        buffer->rest = NULL;
        return_buffers(net, buffer);
    }
    position = 0;
    while (net->polling && (buffer = virtqueue_detach(&net->transmit.ring, &position)) != NULL) {
        virtio_lock_state state = net_enter();

        net->statistics.tx_returned++;
        net->operations->return_buffer(net->context, buffer);
        net_leave(net, state);
    }
    while ((packet = virtqueue_detach(&net->transmit.ring, &position)) != NULL) {
        finish_packet(net, packet);
    }
}

bool virtio_net_stop(struct virtio_net *net)
{
    struct net_device *device = net->device;

    for (uint16_t i = 0; i < device->pairs; i++) {
        virtio_lock_state state = net_enter();

        device->pair[i].state = NET_STOPPED;
        net_leave(&device->pair[i], state);
        /* From here on nobody else touches transport, rings, `received` and `waiting`. */
        return_held(&device->pair[i]);
    }
    if (device->memory_with_device) {
        if (!virtio_transport_reset(net->transport)) {
            virtio_platform_log("virtio-net: the device does not confirm a reset; it keeps what "
                                "it has");
            return false;
        }
        device->memory_with_device = false;
    }
    for (uint16_t i = 0; i < device->pairs; i++) {
        return_exposed(&device->pair[i]);
    }
    return true;
}

void virtio_net_free(struct virtio_net *net)
{
    struct net_device *device = net->device;

    if (device->memory_with_device) { /* lost rather than corrupted: the device may still write */
        return;
    }
    for (uint16_t i = 0; i < device->pairs; i++) {
        virtqueue_destroy(&device->pair[i].receive.ring);
        virtqueue_destroy(&device->pair[i].transmit.ring);
    }
    virtio_platform_free(device, device->bytes);
}
