/* SPDX-License-Identifier: BSD-2-Clause */
/* Stops the network device, or resets one queue. Buffers and packets that were with the device are
 * returned once it has confirmed the reset (2.4.1, 2.6.1). */
#include "net_private.h"

/* A queue that breaks again within this time after its reset stops the device. */
#define RESET_PERIOD UINT64_C(1000000000)

/* Returns a frame's buffers to the owner. One critical section for each, because there can be many.
 */
static void return_buffers(struct virtio_net *net, const struct net_queue *queue,
                           struct virtio_net_buffer *buffer)
{
    while (buffer != NULL) {
        struct virtio_net_buffer *rest = buffer->rest;
        virtio_lock_state state = virtio_platform_lock();

        net->statistics.rx_buffers_returned += queue == &net->receive;
        net->statistics.tx_returned += queue == &net->transmit;
        net->operations->return_buffer(net->context, buffer);
        net_unlock(net, state);
        buffer = rest;
    }
}

static void finish_packet(struct virtio_net *net, struct virtio_net_packet *packet)
{
    virtio_lock_state state = virtio_platform_lock();

    packet_list_append(&net->transmitted, packet);
    net->transmitted_news = true;
    net_unlock(net, state);
}

/* Returns the buffers and packets in the driver's own lists. */
static void return_queued(struct virtio_net *net)
{
    struct virtio_net_buffer *buffer;
    struct virtio_net_packet *packet;

    while ((buffer = buffer_list_take(&net->fetched)) != NULL ||
           (buffer = buffer_list_take(&net->received)) != NULL) {
        return_buffers(net, &net->receive, buffer);
    }
    return_buffers(net, &net->receive, net->merging); /* the device won't finish this frame */
    net->merging = NULL;
    while ((packet = packet_list_take(&net->waiting)) != NULL) {
        finish_packet(net, packet);
    }
}

/* Frees the slots of a chain. Returns the buffer or packet that they were taken for. */
static void *release_slots(struct virtio_net *net, const struct net_queue *queue, void *token)
{
    virtio_lock_state state = virtio_platform_lock();
    void *owner = virtio_bounce_release(
        queue == &net->receive ? &net->receive_slots : &net->transmit_slots, token);

    net_unlock(net, state);
    return owner;
}

/* Returns the buffers and packets that were with the device until it confirmed the reset. */
static void return_detached(struct virtio_net *net, struct net_queue *queue)
{
    uint16_t position = 0;
    void *token;

    while ((token = virtqueue_detach(&queue->ring, &position)) != NULL) {
        struct virtio_net_buffer *buffer;

        if (queue == &net->device->control) {
            continue; /* a command's memory belongs to the driver */
        }
        if (net->bounces) {
            token = release_slots(net, queue, token);
        }
        if (queue == &net->transmit && !net->parameters.polling) {
            finish_packet(net, token);
            continue;
        }
        buffer = token;
        buffer->rest = NULL;
        return_buffers(net, queue, buffer);
    }
}

/* Resets a broken queue and enables it again (2.6.1.2), after returning its buffers to the owner.
 * Returns false if that fails, with the reason in *reason. */
static bool reset_queue(struct virtio_net *net, struct net_queue *queue, const char **reason)
{
    uint64_t now = virtio_platform_now();
    virtio_lock_state state;
    bool enabled;

    /* A device that needs a reset as a whole, or is gone, is not accessed. */
    *reason = net_status_failure(net);
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
    return_detached(net, queue);
    if (queue == &net->receive) {
        return_buffers(net, queue, net->merging); /* the device won't finish this frame */
        net->merging = NULL;
    }
    state = virtio_platform_lock();
    net->statistics.queue_resets++;
    virtqueue_reset(&queue->ring);
    enabled = net_enable_queue(net->device, queue, reason);
    net_unlock(net, state);
    return enabled;
}

/* Resets a queue if it is broken. Stops the device if that fails. */
static void recover_queue(struct virtio_net *net, struct net_queue *queue)
{
    const char *broken = queue->ring.broken;
    const char *reason = broken;

    if (net->state != NET_RUNNING || broken == NULL) {
        return;
    }
    while (__atomic_test_and_set(&net->device->selecting, __ATOMIC_ACQUIRE)) {
        virtio_platform_pause();
    }
    if ((net->features & VIRTIO_F_RING_RESET) == 0 || !reset_queue(net, queue, &reason)) {
        virtio_lock_state state = virtio_platform_lock();

        net_stop_broken(net, reason);
        net_unlock(net, state);
    } else { /* at most once in RESET_PERIOD */
        virtio_platform_log("virtio-net: queue %u was reset: %s", queue->index, broken);
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
        net_unlock(&device->pair[i], state);
        /* From now on no other context uses transport, rings, `received` and `waiting`. */
        return_queued(&device->pair[i]);
    }
    if (device->memory_with_device) {
        /* If no queue is enabled, the device has none of the driver's memory even without a reset.
         */
        if (!virtio_transport_reset(net->transport) && net->transport->queues != 0) {
            virtio_platform_log("virtio-net: the device does not confirm a reset; its buffers stay "
                                "with it");
            return false;
        }
        device->memory_with_device = false;
    }
    for (uint16_t i = 0; i < device->pairs; i++) {
        return_detached(&device->pair[i], &device->pair[i].receive);
        return_detached(&device->pair[i], &device->pair[i].transmit);
    }
    return true;
}

void virtio_net_free(struct virtio_net *net)
{
    struct net_device *device = net->device;

    if (device->memory_with_device) { /* not freed, because the device may still write to it */
        return;
    }
    for (uint16_t i = 0; i < device->pairs; i++) {
        virtqueue_destroy(&device->pair[i].receive.ring);
        virtqueue_destroy(&device->pair[i].transmit.ring);
        net_bounce_free(&device->pair[i]);
    }
    net_control_free(device);
    virtio_platform_free(device, sizeof(*device) + device->room * sizeof(*net));
}
