/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The virtio transport over the connection. Values that other transports keep in registers are kept
 * in memory here, and sent to the back-end as messages.
 *
 * Order: the memory table is sent with the features, a queue's set-up when the driver enables the
 * queue, and DRIVER_OK starts the queues.
 */
#include "memory.h"
#include "vhost_user_private.h"
#include <stdatomic.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#define QUEUE_SIZE_MAX 32768u /* 2.7; the protocol has no request for it */

/* Features of the rings and of the frames, which the back-end offers. */
#define FEATURES_PASSED                                                                          \
    (VIRTIO_F_INDIRECT_DESC | VIRTIO_F_EVENT_IDX | VIRTIO_F_VERSION_1 | VIRTIO_F_RING_PACKED |   \
     VIRTIO_F_IN_ORDER | VIRTIO_F_ORDER_PLATFORM | VIRTIO_NET_F_CSUM | VIRTIO_NET_F_GUEST_CSUM | \
     VIRTIO_NET_F_GUEST_TSO4 | VIRTIO_NET_F_GUEST_TSO6 | VIRTIO_NET_F_HOST_TSO4 |                \
     VIRTIO_NET_F_HOST_TSO6 | VIRTIO_NET_F_MRG_RXBUF)

static bool tell_number(struct vhost_user *vhost, uint32_t request, uint64_t number)
{
    return channel_tell_number(&vhost->channel, request, number, CHANNEL_NO_DESCRIPTOR);
}

/* Sends a descriptor, or CHANNEL_NO_DESCRIPTOR, for queue `index`. */
static bool tell_descriptor(struct vhost_user *vhost, uint32_t request, uint64_t index,
                            int descriptor)
{
    uint64_t number = descriptor >= 0 ? index : index | VRING_NO_DESCRIPTOR;

    return channel_tell_number(&vhost->channel, request, number, descriptor);
}

static bool tell_state(struct vhost_user *vhost, uint32_t request, uint32_t index, uint32_t number)
{
    struct vhost_user_vring_state state = {.index = index, .number = number};

    return channel_tell(&vhost->channel, request, &state, sizeof(state), CHANNEL_NO_DESCRIPTOR);
}

static uint64_t device_features(struct virtio_transport *transport)
{
    struct vhost_user *vhost = vhost_user_of(transport);

    if (!vhost_user_sound(vhost)) {
        return 0;
    }
    return (vhost->features & FEATURES_PASSED) | vhost_user_config_features(vhost);
}

static bool share_memory(struct vhost_user *vhost)
{
    const struct vhost_user_region *region = vhost_user_memory();
    struct vhost_user_memory_table table = {
        .regions = 1,
        .region = {{.guest_address = (uintptr_t)region->base,
                    .bytes = region->bytes,
                    .user_address = (uintptr_t)region->base}},
    };

    return channel_tell(&vhost->channel, REQUEST_SET_MEM_TABLE, &table, sizeof(table),
                        region->descriptor);
}

static void set_driver_features(struct virtio_transport *transport, uint64_t features)
{
    struct vhost_user *vhost = vhost_user_of(transport);
    uint64_t told = features & vhost->features;

    vhost->driver_features = features;
    told |= vhost->features & VHOST_USER_F_PROTOCOL_FEATURES;
    if (tell_number(vhost, REQUEST_SET_FEATURES, told) && share_memory(vhost) &&
        (told & VIRTIO_NET_F_MTU) != 0 && vhost_user_negotiated(vhost, PROTOCOL_F_NET_MTU) &&
        !vhost_user_config_kept(vhost, VIRTIO_NET_F_MTU)) {
        (void)tell_number(vhost, REQUEST_NET_SET_MTU, vhost->options.mtu);
    }
}

/* Returns the status that the driver has set, with the bits that only the back-end knows. */
static uint8_t status(struct virtio_transport *transport)
{
    struct vhost_user *vhost = vhost_user_of(transport);
    uint8_t own = vhost->status;
    uint64_t answer = own;

    if (own == 0) {
        return 0;
    }
    if (vhost_user_sound(vhost) && vhost_user_negotiated(vhost, PROTOCOL_F_STATUS)) {
        (void)channel_ask(&vhost->channel, REQUEST_GET_STATUS, NULL, 0, &answer, sizeof(answer));
    }
    if (!vhost_user_sound(vhost)) {
        answer = VIRTIO_STATUS_NEEDS_RESET;
    } else if (vhost->queue_failed) {
        answer |= VIRTIO_STATUS_NEEDS_RESET;
    }
    /* The device may refuse FEATURES_OK (3.1.1 step 6) and set NEEDS_RESET (2.1). */
    if ((answer & VIRTIO_STATUS_FEATURES_OK) == 0) {
        own &= (uint8_t)~VIRTIO_STATUS_FEATURES_OK;
    }
    return own | (uint8_t)(answer & VIRTIO_STATUS_NEEDS_RESET);
}

/* Starts the queues: the device is live (3.1.1 step 8). Some back-ends start a queue only when it
 * is kicked. */
static void start_queues(struct vhost_user *vhost)
{
    for (uint32_t i = 0; i < vhost->queue_count; i++) {
        struct vhost_user_queue *queue = &vhost->queues[i];

        if (queue->kick < 0 || queue->started) {
            continue;
        }
        queue->started = tell_descriptor(vhost, REQUEST_SET_VRING_KICK, i, queue->kick) &&
                         ((vhost->features & VHOST_USER_F_PROTOCOL_FEATURES) == 0 ||
                          tell_state(vhost, REQUEST_SET_VRING_ENABLE, i, 1)) &&
                         eventfd_write(queue->kick, 1) == 0;
    }
}

/* Stops a queue. When the back-end answers GET_VRING_BASE, it has stopped the queue. */
static void stop_queue(struct vhost_user *vhost, uint32_t index)
{
    struct vhost_user_vring_state state = {.index = index};
    struct vhost_user_vring_state answer;

    (void)channel_ask(&vhost->channel, REQUEST_GET_VRING_BASE, &state, sizeof(state), &answer,
                      sizeof(answer));
    if ((vhost->features & VHOST_USER_F_PROTOCOL_FEATURES) != 0) {
        (void)tell_state(vhost, REQUEST_SET_VRING_ENABLE, index, 0);
    }
}

static void close_descriptor(int *descriptor)
{
    if (*descriptor >= 0) {
        close(*descriptor);
        *descriptor = -1;
    }
}

static void reset(struct vhost_user *vhost)
{
    for (uint32_t i = 0; i < vhost->queue_count; i++) {
        struct vhost_user_queue *queue = &vhost->queues[i];

        if (queue->started) {
            stop_queue(vhost, i);
        }
        vhost_user_forget(vhost, queue->error);
        close_descriptor(&queue->kick);
        close_descriptor(&queue->error);
        queue->started = false;
    }
    vhost->queue_failed = false;
    if (vhost_user_negotiated(vhost, PROTOCOL_F_RESET_DEVICE)) {
        (void)channel_tell(&vhost->channel, REQUEST_RESET_DEVICE, NULL, 0, CHANNEL_NO_DESCRIPTOR);
    }
    if (vhost_user_negotiated(vhost, PROTOCOL_F_STATUS)) {
        (void)tell_number(vhost, REQUEST_SET_STATUS, 0);
    }
    vhost->driver_features = 0;
    if (!vhost_user_sound(vhost)) {
        (void)channel_leave(&vhost->channel);
    }
}

static void set_status(struct virtio_transport *transport, uint8_t status)
{
    struct vhost_user *vhost = vhost_user_of(transport);
    uint8_t before = vhost->status;

    vhost->status = status;
    if (status == 0) {
        reset(vhost);
        return;
    }
    if (before == 0) {
        (void)vhost_user_connect(vhost, 0);
    }
    if ((status & ~before & VIRTIO_STATUS_DRIVER_OK) != 0) {
        start_queues(vhost);
    }
    if (vhost_user_negotiated(vhost, PROTOCOL_F_STATUS)) {
        (void)tell_number(vhost, REQUEST_SET_STATUS, status);
    }
}

static bool set_config_vector(struct virtio_transport *transport, uint16_t vector)
{
    (void)transport;
    return vector == 0 || vector == VIRTIO_NO_VECTOR;
}

static uint16_t queue_size_max(struct virtio_transport *transport, uint16_t index)
{
    const struct vhost_user *vhost = vhost_user_of(transport);

    return vhost_user_sound(vhost) && index < vhost->queue_count ? QUEUE_SIZE_MAX : 0;
}

static bool set_up_queue(struct vhost_user *vhost, const struct virtio_queue_setup *setup)
{
    bool packed = (vhost->driver_features & VIRTIO_F_RING_PACKED) != 0;
    struct vhost_user_vring_address address = {
        .index = setup->index,
        .descriptors = setup->descriptors,
        .used = setup->device_area,
        .available = setup->driver_area,
    };
    int call = setup->vector == VIRTIO_NO_VECTOR ? -1 : vhost->vectors[setup->vector];

    return tell_state(vhost, REQUEST_SET_VRING_NUM, setup->index, setup->size) &&
           tell_state(vhost, REQUEST_SET_VRING_BASE, setup->index,
                      packed ? VRING_BASE_PACKED : 0) &&
           channel_tell(&vhost->channel, REQUEST_SET_VRING_ADDR, &address, sizeof(address),
                        CHANNEL_NO_DESCRIPTOR) &&
           tell_descriptor(vhost, REQUEST_SET_VRING_CALL, setup->index, call) &&
           tell_descriptor(vhost, REQUEST_SET_VRING_ERR, setup->index,
                           vhost->queues[setup->index].error);
}

static bool queue_enable(struct virtio_transport *transport, const struct virtio_queue_setup *setup,
                         struct virtio_notification *notification, const char **reason)
{
    struct vhost_user *vhost = vhost_user_of(transport);
    struct vhost_user_queue *queue = &vhost->queues[setup->index];

    queue->kick = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    queue->error = eventfd(0, EFD_NONBLOCK | EFD_CLOEXEC);
    if (queue->kick < 0 || queue->error < 0 || !vhost_user_listen_to(vhost, queue->error)) {
        *reason = "no descriptors left";
        return false;
    }
    transport->queues |= UINT64_C(1) << setup->index;
    notification->reg = (virtio_register)queue->kick;
    if (!set_up_queue(vhost, setup)) {
        *reason = vhost->channel.broken;
        return false;
    }
    return true;
}

static bool queue_disabled(struct virtio_transport *transport, uint16_t index)
{
    struct vhost_user *vhost = vhost_user_of(transport);

    return !vhost->queues[index].started &&
           (vhost_user_sound(vhost) || channel_leave(&vhost->channel));
}

/* Kicks a queue. If the eventfd's counter is full, the write fails, which is harmless because the
 * back-end has not processed an earlier kick yet. */
static void notify(struct virtio_transport *transport,
                   const struct virtio_notification *notification)
{
    (void)transport;
    (void)eventfd_write((int)notification->reg, 1);
}

/* The protocol does not report the cause. The caller has acknowledged the interrupt by reading the
 * eventfd, and reads the rings next (virtio/transport.h). */
static uint32_t interrupt_cause(struct virtio_transport *transport)
{
    (void)transport;
    atomic_thread_fence(memory_order_seq_cst);
    return VIRTIO_CAUSE_QUEUE | VIRTIO_CAUSE_CONFIG;
}

const struct virtio_transport_operations vhost_user_operations = {
    .status = status,
    .set_status = set_status,
    .device_features = device_features,
    .set_driver_features = set_driver_features,
    .config_generation = vhost_user_config_generation,
    .config_read = vhost_user_config_read,
    .set_config_vector = set_config_vector,
    .queue_size_max = queue_size_max,
    .queue_enable = queue_enable,
    .queue_disabled = queue_disabled,
    .notify = notify,
    .interrupt_cause = interrupt_cause,
};
