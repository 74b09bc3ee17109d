/* SPDX-License-Identifier: BSD-2-Clause */
/* Creates the driver of a network device and starts the device (VIRTIO 1.3, 3.1.1 and 5.1.5). */
#include "net_private.h"

#define RX_BUFFERS_DEFAULT       8u /* the paper, 4.2: a larger number gains nothing at 1 Gb/s */
#define TX_RING_DEFAULT          256u
#define SEND_QUEUE_DEFAULT       64u
#define INTERRUPT_BUDGET_DEFAULT 64u
#define TRANSMIT_THRESHOLD_MIN   16u
#define CONTROL_RING             4u  /* a command has at most 3 segments */
#define INDIRECT_TABLES_MAX      32u /* 4 KiB; see virtqueue/split.c for when they are used */

static void set_default(uint16_t *value, uint16_t standard)
{
    *value = *value != 0 ? *value : standard;
}

static void set_parameters(struct virtio_net *net)
{
    struct virtio_net_parameters *parameters = &net->parameters;

    set_default(&parameters->rx_buffers, RX_BUFFERS_DEFAULT);
    set_default(&parameters->tx_ring, TX_RING_DEFAULT);
    set_default(&parameters->send_queue, SEND_QUEUE_DEFAULT);
    set_default(&parameters->interrupt_budget, INTERRUPT_BUDGET_DEFAULT);
    if (parameters->rx_buffers_max < parameters->rx_buffers) {
        parameters->rx_buffers_max = parameters->rx_buffers;
    }
    if (parameters->receive_bytes < VIRTIO_NET_RECEIVE_BYTES) {
        parameters->receive_bytes = VIRTIO_NET_RECEIVE_BYTES;
    }
    if (parameters->mtu_max == 0) {
        parameters->mtu_max =
            net_at_most(parameters->receive_bytes - VIRTIO_NET_HEADER_BYTES - ETHERNET_HEADER_BYTES,
                        UINT16_MAX);
    }
    parameters->features_off |= parameters->vlan_filter ? 0 : VIRTIO_NET_F_CTRL_VLAN;
    net->mtu = ETHERNET_MTU;
    net->single_vector = net->transport->vectors == 1;
    net->device->link_up = true;
    net->device->control = (struct net_queue){.index = 2, .vector = VIRTIO_NO_VECTOR};
}

/* Returns the smallest power of two that is at least `wanted`, or if that is larger than `limit`
 * the largest one that is not. */
uint16_t net_ring_size(uint16_t wanted, uint16_t limit)
{
    uint32_t size = 1;

    while (size < wanted && size * 2 <= limit && size < VIRTQUEUE_SIZE_MAX) {
        size *= 2;
    }
    return (uint16_t)size;
}

/* Creates a queue's ring of at least `wanted` entries, or as many as the device allows. Returns
 * false if that fails, with the reason in *reason. */
static bool create_ring(struct virtio_net *net, struct net_queue *queue, uint16_t wanted,
                        const char **reason)
{
    struct virtio_transport *transport = net->transport;
    uint16_t limit = transport->operations->queue_size_max(transport, queue->index);
    struct virtqueue_options options = {
        .size = transport->queue_size_fixed ? limit : net_ring_size(wanted, limit),
        .features = net->features,
        .alignment = transport->legacy ? VIRTIO_LEGACY_ALIGNMENT : 0,
        .by_index = queue == &net->transmit && net->parameters.polling,
        /* kvmtool reports the length of the whole command. */
        .length_clamped = queue == &net->device->control,
        .pool = net->device->pool,
    };

    if (limit == 0) {
        *reason = "the device lacks a queue that every network device has";
        return false;
    }
    if (queue == &net->transmit && (net->features & VIRTIO_F_INDIRECT_DESC) != 0) {
        options.indirect_tables = net_at_most(options.size / 2u, INDIRECT_TABLES_MAX);
        options.indirect_entries = net_at_most(options.size, VIRTIO_NET_SEGMENTS_MAX);
    }
    *reason = "no memory for the rings";
    return virtqueue_create(&queue->ring, &options);
}

static bool create_rings(struct virtio_net *net, const char **reason)
{
    struct virtio_net_parameters *parameters = &net->parameters;
    unsigned entries = net->header_alone ? 2 : 1; /* ring entries for each receive buffer */
    unsigned fit;
    unsigned size;

    if (!create_ring(net, &net->receive,
                     net_at_most(parameters->rx_buffers_max * entries, UINT16_MAX), reason) ||
        !create_ring(net, &net->transmit, parameters->tx_ring, reason)) {
        return false;
    }
    fit = net->receive.ring.size / entries;
    parameters->rx_buffers = net_at_most(parameters->rx_buffers, fit);
    parameters->rx_buffers_max = net_at_most(parameters->rx_buffers_max, fit);
    net->exposed_target = parameters->rx_buffers;
    /* A quarter of the ring, but at least 16 entries, and at most half of the ring. */
    size = net->transmit.ring.size;
    net->transmit_threshold = size / 4u > TRANSMIT_THRESHOLD_MIN
                                  ? (uint16_t)(size / 4u)
                                  : net_at_most((size + 1u) / 2u, TRANSMIT_THRESHOLD_MIN);
    net->segments_max = net_at_most(size - net->header_alone, VIRTIO_NET_FRAME_SEGMENTS_MAX);
    return !net->bounces || net_bounce_create(net, reason);
}

bool net_enable_queue(struct net_device *device, struct net_queue *queue, const char **reason)
{
    struct virtio_queue_setup setup = {.index = queue->index, .vector = queue->vector};
    struct virtio_transport *transport = device->pair->transport;

    virtqueue_describe(&queue->ring, &setup);
    device->memory_with_device = true;
    return transport->operations->queue_enable(transport, &setup, &queue->notification, reason);
}

/* Returns the interrupt vector of a pair's queue, according to the table in net.h. */
static uint16_t queue_vector(const struct virtio_net *net, uint16_t index)
{
    unsigned vectors = net->transport->vectors;
    unsigned pairs = net->device->pairs;

    if (vectors == 0) {
        return VIRTIO_NO_VECTOR;
    }
    if (vectors > 2 * pairs) {
        return (uint16_t)(index + 1u);
    }
    if (vectors > pairs) {
        return (uint16_t)(net->index + 1u);
    }
    return vectors > 1 ? 1 : 0;
}

/* Sets number (5.1.2) and vector of a pair's queue. `which`: 0 receive, 1 transmit. */
static void number_queue(const struct virtio_net *net, struct net_queue *queue, unsigned which)
{
    queue->index = (uint16_t)(2u * net->index + which);
    queue->vector = queue_vector(net, queue->index);
}

/* Initialises all pairs from pair 0, whose features were negotiated. */
static void make_pairs(struct net_device *device, void *const *contexts)
{
    for (uint16_t i = 0; i < device->pairs; i++) {
        struct virtio_net *net = &device->pair[i];

        *net = device->pair[0];
        net->index = i;
        net->context = contexts != NULL ? contexts[i] : net->context;
        number_queue(net, &net->receive, 0);
        number_queue(net, &net->transmit, 1);
    }
    device->interrupt_pairs = device->pair->transport->vectors > device->pairs ? 1 : device->pairs;
}

static bool set_up_queues(struct net_device *device, const char **reason)
{
    struct virtio_transport *transport = device->pair->transport;
    uint16_t vector = transport->vectors == 0 ? VIRTIO_NO_VECTOR : 0;
    bool control = (device->pair->features & VIRTIO_NET_F_CTRL_VQ) != 0;

    for (uint16_t i = 0; i < device->pairs; i++) {
        if (!create_rings(&device->pair[i], reason)) {
            return false;
        }
    }
    if (control && (!create_ring(device->pair, &device->control, CONTROL_RING, reason) ||
                    !net_control_create(device))) {
        return false;
    }
    if (!transport->operations->set_config_vector(transport, vector)) {
        *reason = "the device refuses the configuration's interrupt vector";
        return false;
    }
    for (uint16_t i = 0; i < device->pairs; i++) {
        if (!net_enable_queue(device, &device->pair[i].receive, reason) ||
            !net_enable_queue(device, &device->pair[i].transmit, reason)) {
            return false;
        }
    }
    return !control || net_enable_queue(device, &device->control, reason);
}

static void start_pair(struct virtio_net *net)
{
    virtio_lock_state state = virtio_platform_lock();

    net->state = NET_RUNNING;
    if (!net->parameters.polling) {
        net_receive_expose(net);
        (void)virtqueue_enable(&net->receive.ring, 0); /* nothing is published yet */
        net_kick(net, &net->receive);
    }
    net_unlock(net, state);
}

/* Follows 3.1.1 step by step. Returns false if a step fails, with the reason in *reason. */
static bool start_device(struct net_device *device, const char **reason)
{
    struct virtio_net *net = &device->pair[0];

    if (device->pool != NULL && !net_bounce_plan(net, reason)) {
        return false;
    }
    if (!virtio_transport_begin(net->transport, reason) || !net_negotiate(net, reason) ||
        !net_read_configuration(net, reason)) {
        return false;
    }
    make_pairs(device, net->parameters.contexts);
    if (!set_up_queues(device, reason)) {
        return false;
    }
    virtio_transport_add_status(net->transport, VIRTIO_STATUS_DRIVER_OK);
    start_pair(net);
    if (device->pairs > 1 && !net_use_pairs(net)) {
        *reason = "the device does not accept the command to use its queue pairs";
        return false;
    }
    for (uint16_t i = 1; i < device->pairs; i++) {
        start_pair(&device->pair[i]);
    }
    return true;
}

struct virtio_net *virtio_net_create(struct virtio_transport *transport,
                                     const struct virtio_net_parameters *parameters,
                                     const struct virtio_net_operations *operations, void *context,
                                     const char **reason)
{
    uint16_t room = parameters->queue_pairs != 0
                        ? net_at_most(parameters->queue_pairs, VIRTIO_NET_PAIRS_MAX)
                        : 1;
    struct net_device *device;
    struct virtio_net *net;
    const char *unused;

    reason = reason != NULL ? reason : &unused;
    *reason = NULL;
    if (transport->device_type != VIRTIO_DEVICE_NETWORK) {
        *reason = "not a network device";
        return NULL;
    }
    if (transport->pool != NULL) {
        room = net_bounce_pairs(transport->pool, room);
    }
    device = virtio_platform_allocate(sizeof(*device) + room * sizeof(*net));
    if (device == NULL) {
        *reason = "no memory for the driver";
        return NULL;
    }
    device->room = room;
    device->pool = transport->pool;
    device->pairs = 1;
    net = &device->pair[0];
    net->device = device;
    net->transport = transport;
    net->operations = operations;
    net->context = context;
    net->parameters = *parameters;
    set_parameters(net);
    if (!start_device(device, reason)) {
        virtio_transport_add_status(transport, VIRTIO_STATUS_FAILED);
        if (virtio_net_stop(net)) {
            virtio_net_free(net);
        }
        return NULL;
    }
    return net;
}
