/* SPDX-License-Identifier: BSD-2-Clause */
/* Bringing the network device up (VIRTIO 1.3, 3.1.1 and 5.1.5). */
#include "net_private.h"

#define RX_BUFFERS_DEFAULT       8u /* the paper's measure: more gain nothing at 1 Gb/s (4.2) */
#define TX_RING_DEFAULT          256u
#define SEND_QUEUE_DEFAULT       64u
#define INTERRUPT_BUDGET_DEFAULT 64u
#define TRANSMIT_THRESHOLD_MIN   16u
#define CONTROL_RING             4u  /* a command's parts are at most 3 */
#define INDIRECT_TABLES_MAX      32u /* 4 KiB; see virtqueue/split.c for when they are used */

static uint16_t or_default(uint16_t value, uint16_t standard)
{
    return value != 0 ? value : standard;
}

static uint16_t at_most(uint16_t value, uint16_t limit)
{
    return value < limit ? value : limit;
}

static void set_parameters(struct virtio_net *net, const struct virtio_net_parameters *parameters)
{
    net->exposed_min = or_default(parameters->rx_buffers, RX_BUFFERS_DEFAULT);
    net->exposed_max = parameters->rx_buffers_max > net->exposed_min ? parameters->rx_buffers_max
                                                                     : net->exposed_min;
    net->send_queue_limit = or_default(parameters->send_queue, SEND_QUEUE_DEFAULT);
    net->interrupt_budget = or_default(parameters->interrupt_budget, INTERRUPT_BUDGET_DEFAULT);
    net->receive_bytes = parameters->receive_bytes > VIRTIO_NET_RECEIVE_BYTES
                             ? parameters->receive_bytes
                             : VIRTIO_NET_RECEIVE_BYTES;
    net->mtu = ETHERNET_MTU;
    net->single_vector = net->transport->vectors == 1;
    net->polling = parameters->polling;
    net->device->link_up = true;
    net->device->features_off =
        parameters->features_off | (parameters->vlan_filter ? 0 : VIRTIO_NET_F_CTRL_VLAN);
    net->device->control.queue = (struct net_queue){.index = 2, .vector = VIRTIO_NO_VECTOR};
}

/* The largest power of two that is at most `limit`, but no larger than needed to be >= `wanted`. */
uint16_t net_ring_size(uint16_t wanted, uint16_t limit)
{
    uint32_t size = 1;

    while (size < wanted && size * 2 <= limit && size < VIRTQUEUE_SIZE_MAX) {
        size *= 2;
    }
    return (uint16_t)size;
}

/* The ring of the wanted size, or the nearest the device has. */
static bool create_ring(struct virtio_net *net, struct net_queue *queue, uint16_t wanted,
                        const char **reason)
{
    struct virtio_transport *transport = net->transport;
    uint16_t limit = transport->operations->queue_size_max(transport, queue->index);
    struct virtqueue_options options = {
        .size = transport->queue_size_fixed ? limit : net_ring_size(wanted, limit),
        .features = net->features,
        .alignment = transport->legacy ? VIRTIO_LEGACY_ALIGNMENT : 0,
    };

    if (limit == 0) {
        *reason = "the device lacks a queue that every network device has";
        return false;
    }
    if (queue == &net->transmit && (net->features & VIRTIO_F_INDIRECT_DESC) != 0) {
        options.indirect_tables = at_most(options.size / 2u, INDIRECT_TABLES_MAX);
        options.indirect_entries = at_most(options.size, VIRTIO_NET_SEGMENTS_MAX);
    }
    *reason = "no memory for the rings";
    return virtqueue_create(&queue->ring, &options);
}

static bool create_rings(struct virtio_net *net, uint16_t tx_ring, const char **reason)
{
    unsigned entries = net->header_alone ? 2 : 1; /* of a receive buffer */
    uint16_t fit;
    uint16_t half;

    if (!create_ring(net, &net->receive, (uint16_t)(net->exposed_max * entries), reason) ||
        !create_ring(net, &net->transmit, tx_ring, reason)) {
        return false;
    }
    fit = (uint16_t)(net->receive.ring.size / entries);
    net->exposed_min = at_most(net->exposed_min, fit);
    net->exposed_max = at_most(net->exposed_max, fit);
    net->exposed_target = net->exposed_min;
    /* A quarter of the ring, but at least 16 and at most half of it. */
    half = (uint16_t)((net->transmit.ring.size + 1u) / 2u);
    net->transmit_threshold = net->transmit.ring.size / 4u;
    if (net->transmit_threshold < TRANSMIT_THRESHOLD_MIN) {
        net->transmit_threshold = at_most(half, TRANSMIT_THRESHOLD_MIN);
    }
    net->segments_max = at_most((uint16_t)(net->transmit.ring.size - net->header_alone),
                                VIRTIO_NET_FRAME_SEGMENTS_MAX);
    return true;
}

bool net_enable_queue(struct net_device *device, struct net_queue *queue, const char **reason)
{
    struct virtio_queue_setup setup = {.index = queue->index, .vector = queue->vector};
    struct virtio_transport *transport = device->pair->transport;

    virtqueue_describe(&queue->ring, &setup);
    device->memory_with_device = true;
    return transport->operations->queue_enable(transport, &setup, &queue->notification, reason);
}

/* The queues and vectors of a pair, as 5.1.2 and net.h have them. */
static void number_queues(struct virtio_net *net)
{
    unsigned vectors = net->transport->vectors;
    unsigned pairs = net->device->pairs;
    struct net_queue *queues[2] = {&net->receive, &net->transmit};

    for (unsigned i = 0; i < 2; i++) {
        queues[i]->index = (uint16_t)(2u * net->index + i);
        if (vectors > 2 * pairs) {
            queues[i]->vector = (uint16_t)(queues[i]->index + 1u);
        } else if (vectors > pairs) {
            queues[i]->vector = (uint16_t)(net->index + 1u);
        } else {
            queues[i]->vector = (uint16_t)(vectors == 0 ? VIRTIO_NO_VECTOR : vectors > 1);
        }
    }
}

/* What was agreed for the first pair holds for all. */
static void make_pairs(struct net_device *device, void *const *contexts)
{
    for (uint16_t i = 0; i < device->pairs; i++) {
        struct virtio_net *net = &device->pair[i];

        *net = device->pair[0];
        net->index = i;
        net->context = contexts != NULL ? contexts[i] : net->context;
        number_queues(net);
    }
    device->interrupt_pairs = device->pair->transport->vectors > device->pairs ? 1 : device->pairs;
}

static bool set_up_queues(struct net_device *device, uint16_t tx_ring, const char **reason)
{
    struct virtio_transport *transport = device->pair->transport;
    uint16_t vector = transport->vectors == 0 ? VIRTIO_NO_VECTOR : 0;
    bool control = (device->pair->features & VIRTIO_NET_F_CTRL_VQ) != 0;

    for (uint16_t i = 0; i < device->pairs; i++) {
        if (!create_rings(&device->pair[i], tx_ring, reason)) {
            return false;
        }
    }
    if (control && (!create_ring(device->pair, &device->control.queue, CONTROL_RING, reason) ||
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
    return !control || net_enable_queue(device, &device->control.queue, reason);
}

static void run(struct virtio_net *net)
{
    virtio_lock_state state = net_enter();

    net->state = NET_RUNNING;
    if (!net->polling) {
        net_receive_expose(net);
        (void)virtqueue_enable(&net->receive.ring, 0); /* nothing is published yet */
        net_kick(net, &net->receive);
    }
    net_leave(net, state);
}

/* 3.1.1, step by step. */
static bool start(struct net_device *device, const struct virtio_net_parameters *parameters,
                  const char **reason)
{
    struct virtio_net *net = &device->pair[0];

    if (!virtio_transport_begin(net->transport, reason) || !net_negotiate(net, reason) ||
        !net_read_configuration(net, reason)) {
        return false;
    }
    make_pairs(device, parameters->contexts);
    if (!set_up_queues(device, or_default(parameters->tx_ring, TX_RING_DEFAULT), reason)) {
        return false;
    }
    virtio_transport_add_status(net->transport, VIRTIO_STATUS_DRIVER_OK);
    run(net);
    if (device->pairs > 1 && !net_use_pairs(net)) {
        *reason = "the device does not use its queue pairs when told to";
        return false;
    }
    for (uint16_t i = 1; i < device->pairs; i++) {
        run(&device->pair[i]);
    }
    return true;
}

struct virtio_net *virtio_net_create(struct virtio_transport *transport,
                                     const struct virtio_net_parameters *parameters,
                                     const struct virtio_net_operations *operations, void *context,
                                     const char **reason)
{
    uint16_t room = at_most(or_default(parameters->queue_pairs, 1), VIRTIO_NET_PAIRS_MAX);
    struct net_device *device;
    struct virtio_net *net;
    const char *unused;

    reason = reason != NULL ? reason : &unused;
    *reason = NULL;
    if (transport->device_type != VIRTIO_DEVICE_NETWORK) {
        *reason = "not a network device";
        return NULL;
    }
    device = virtio_platform_allocate(net_device_bytes(room));
    if (device == NULL) {
        *reason = "no memory for the driver";
        return NULL;
    }
    device->room = room;
    device->pairs = 1;
    net = &device->pair[0];
    net->device = device;
    net->transport = transport;
    net->operations = operations;
    net->context = context;
    set_parameters(net, parameters);
    if (!start(device, parameters, reason)) {
        virtio_transport_add_status(transport, VIRTIO_STATUS_FAILED);
        if (virtio_net_stop(net)) {
            virtio_net_free(net);
        }
        return NULL;
    }
    return net;
}
