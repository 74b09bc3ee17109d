/* SPDX-License-Identifier: BSD-2-Clause */
/* Taking the network device down: what the device had comes back once it has confirmed a reset
 * (2.4.1). */
#include "net_private.h"

/* A queue that breaks again so soon after its reset is not worth the next one. */
#define RESET_PERIOD UINT64_C(1000000000)

/* A frame's buffers. Critical sections of one item each: there can be many. */
static void return_buffers(struct virtio_net *net, const struct net_queue *queue,
                           struct virtio_net_buffer *buffer)
{
    while (buffer != NULL) {
        struct virtio_net_buffer *rest = buffer->rest;
        virtio_lock_state state = virtio_platform_lock();

        net->statistics.rx_buffers_returned += queue == &net->receive;
        net->statistics.tx_returned += queue == &net->transmit;
        net->operations->return_buffer(net->context, buffer);
        net_leave(net, state);
        buffer = rest;
    }
}

static void finish_packet(struct virtio_net *net, struct virtio_net_packet *packet)
{
    virtio_lock_state state = virtio_platform_lock();

    packet_list_append(&net->transmitted, packet);
    net->transmitted_news = true;
    net_leave(net, state);
}

/* What the driver itself holds. */
static void return_held(struct virtio_net *net)
{
    struct virtio_net_buffer *buffer;
    struct virtio_net_packet *packet;

    while ((buffer = buffer_list_take(&net->fetched)) != NULL ||
           (buffer = buffer_list_take(&net->received)) != NULL) {
        return_buffers(net, &net->receive, buffer);
    }
    return_buffers(net, &net->receive, net->merging); /* the frame's other buffers won't come */
    net->merging = NULL;
    while ((packet = packet_list_take(&net->waiting)) != NULL) {
        finish_packet(net, packet);
    }
}

/* What the device held until it confirmed the reset. */
static void return_exposed(struct virtio_net *net, struct net_queue *queue)
{
    uint16_t position = 0;
    void *token;

    while ((token = virtqueue_detach(&queue->ring, &position)) != NULL) {
        struct virtio_net_buffer *buffer = token;

        if (queue == &net->device->control) {
            continue; /* a command's memory is the driver's own */
        }
        if (queue == &net->transmit && !net->parameters.polling) {
            finish_packet(net, token);
            continue;
        }
        buffer->rest = NULL;
        return_buffers(net, queue, buffer);
    }
}

/* True: the queue is as new, and what it had is the owner's (2.6.1.2). */
static bool reset_queue(struct virtio_net *net, struct net_queue *queue, const char **reason)
{
    uint64_t now = virtio_platform_now();
    virtio_lock_state state;
    bool enabled;

    /* A device that needs more than that, or is gone, is left alone. */
    *reason = net_trouble(net);
    if (*reason != NULL) {
        return false;
    }
    *reason = queue->ring.broken;
    if ((queue->was_reset && now - queue->reset_at < RESET_PERIOD) ||
        !virtio_transport_reset_queue(net->transport, queue->index)) {
        return false;
    }
    queue->was_reset = true;
    queue->reset_at = now;
    return_exposed(net, queue);
    if (queue == &net->receive) {
        return_buffers(net, queue, net->merging); /* the frame's other buffers won't come */
        net->merging = NULL;
    }
    state = virtio_platform_lock();
    net->statistics.queue_resets++;
    virtqueue_reset(&queue->ring);
    enabled = net_enable_queue(net->device, queue, reason);
    net_leave(net, state);
    return enabled;
}

/* Resets a queue if it is broken. Stops the device if that fails. */
static void recover_queue(struct virtio_net *net, struct net_queue *queue)
{
    const char *reason = queue->ring.broken;

    if (net->state != NET_RUNNING || reason == NULL) {
        return;
    }
    while (__atomic_test_and_set(&net->device->selecting, __ATOMIC_ACQUIRE)) {
        virtio_platform_pause();
    }
    if ((net->features & VIRTIO_F_RING_RESET) == 0 || !reset_queue(net, queue, &reason)) {
        virtio_lock_state state = virtio_platform_lock();

        net_stop_broken(net, reason);
        net_leave(net, state);
    }
    __atomic_clear(&net->device->selecting, __ATOMIC_RELEASE);
}

void net_recover(struct virtio_net *net)
{
    recover_queue(net, &net->receive);
    recover_queue(net, &net->transmit);
}

void net_control_recover(struct virtio_net *net)
{
    recover_queue(net, &net->device->control);
}

bool virtio_net_stop(struct virtio_net *net)
{
    struct net_device *device = net->device;

    for (uint16_t i = 0; i < device->pairs; i++) {
        virtio_lock_state state = virtio_platform_lock();

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
        return_exposed(&device->pair[i], &device->pair[i].receive);
        return_exposed(&device->pair[i], &device->pair[i].transmit);
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
    net_control_free(device);
    virtio_platform_free(device, sizeof(*device) + device->room * sizeof(*net));
}
