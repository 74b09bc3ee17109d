/* SPDX-License-Identifier: BSD-2-Clause */
/* Bringing the network device up (VIRTIO 1.3, 3.1.1 and 5.1.5), and taking it down again. */
#include "net_private.h"
#include <string.h>

#define RECEIVE_QUEUE  0u
#define TRANSMIT_QUEUE 1u /* 5.1.2 */

#define RX_BUFFERS_DEFAULT       8u /* the paper's measure: more gain nothing at 1 Gb/s (4.2) */
#define TX_RING_DEFAULT          256u
#define SEND_QUEUE_DEFAULT       64u
#define INTERRUPT_BUDGET_DEFAULT 64u
#define TRANSMIT_THRESHOLD_MIN   16u
#define INDIRECT_TABLES_MAX      32u /* 4 KiB; see virtqueue/split.c for when they are used */
#define MTU_MIN                  68u /* 5.1.4.1 */

/*
 * What the driver can use. ACCESS_PLATFORM: every address given to a device comes from the platform
 * (virtio_platform_dma_address() and _allocate()), which is what the feature asks for (6).
 */
#define FEATURES_KNOWN                                                                             \
    (VIRTIO_F_VERSION_1 | VIRTIO_F_EVENT_IDX | VIRTIO_F_INDIRECT_DESC | VIRTIO_F_ACCESS_PLATFORM | \
     VIRTIO_F_RING_PACKED | VIRTIO_F_IN_ORDER | VIRTIO_F_ORDER_PLATFORM | VIRTIO_NET_F_MAC |       \
     VIRTIO_NET_F_MTU | VIRTIO_NET_F_STATUS | VIRTIO_NET_F_CSUM | VIRTIO_NET_F_GUEST_CSUM |        \
     VIRTIO_NET_F_HOST_TSO4 | VIRTIO_NET_F_HOST_TSO6 | VIRTIO_NET_F_GUEST_TSO4 |                   \
     VIRTIO_NET_F_GUEST_TSO6 | VIRTIO_NET_F_MRG_RXBUF)

/* Of no use to a driver that polls: it sends no chains, receives none, asks for no interrupt, and
 * leaves it to a flag whether the device wants to be notified. */
#define FEATURES_WAITING \
    (VIRTIO_F_EVENT_IDX | VIRTIO_F_INDIRECT_DESC | VIRTIO_NET_F_CSUM | VIRTIO_NET_F_MRG_RXBUF)

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
    net->link_up = true;
    net->features_off = parameters->features_off;
    net->single_vector = net->transport->vectors == 1;
    net->polling = parameters->polling;
}

/*
 * 5.1.4.2: who accepts VIRTIO_NET_F_MTU must have room to receive frames of that size. Reading the
 * field before the decision is allowed (3.1.1 step 4).
 */
static bool mtu_acceptable(struct virtio_net *net, uint64_t offered)
{
    struct virtio_config_field mtu = {.offset = CONFIG_MTU, .bytes = 2};

    return (offered & VIRTIO_NET_F_MTU) != 0 &&
           virtio_transport_read_config(net->transport, &mtu, 1) && mtu.value >= MTU_MIN &&
           mtu.value + ETHERNET_HEADER_BYTES + VIRTIO_NET_HEADER_BYTES <= net->receive_bytes;
}

/* The largest power of two that is at most `limit`, but no larger than needed to be >= `wanted`. */
static uint16_t ring_size(uint16_t wanted, uint16_t limit)
{
    uint32_t size = 1;

    while (size < wanted && size * 2 <= limit && size < VIRTQUEUE_SIZE_MAX) {
        size *= 2;
    }
    return (uint16_t)size;
}

/* See VIRTIO_NET_LARGE_RECEIVE_BYTES. */
static bool room_for_large_frames(struct virtio_net *net)
{
    uint16_t limit = net->transport->operations->queue_size_max(net->transport, RECEIVE_QUEUE);
    uint32_t ring = ring_size(net->exposed_max, limit);
    uint32_t buffers = net->exposed_min < ring ? net->exposed_min : ring;

    return buffers * net->receive_bytes >= VIRTIO_NET_LARGE_RECEIVE_BYTES;
}

/* 5.1.6: num_buffers came with VERSION_1 or MRG_RXBUF; and before VERSION_1 the header is to be
 * alone in its descriptor, unless the device accepts any layout (2.7.4.3). */
static void choose_header(struct virtio_net *net)
{
    if ((net->features & (VIRTIO_F_VERSION_1 | VIRTIO_NET_F_MRG_RXBUF)) == 0) {
        net->header_bytes = offsetof(struct net_header, buffers);
    } else {
        net->header_bytes = sizeof(struct net_header);
    }
    net->header_alone = (net->features & (VIRTIO_F_VERSION_1 | VIRTIO_F_ANY_LAYOUT)) == 0;
}

static bool negotiate(struct virtio_net *net, const char **reason)
{
    uint64_t offered = net->transport->operations->device_features(net->transport);
    uint64_t known = net->polling ? FEATURES_KNOWN & ~FEATURES_WAITING : FEATURES_KNOWN;
    uint64_t wanted =
        (known | (net->transport->legacy ? VIRTIO_F_ANY_LAYOUT : 0)) & ~net->features_off;

    if ((wanted & VIRTIO_NET_F_MTU) != 0 && !mtu_acceptable(net, offered)) {
        wanted &= ~VIRTIO_NET_F_MTU;
    }
    /* 5.1.3.1: segmentation requires the checksum, and 3.1.1 forbids to accept it without. */
    if ((wanted & offered & VIRTIO_NET_F_CSUM) == 0) {
        wanted &= ~(VIRTIO_NET_F_HOST_TSO4 | VIRTIO_NET_F_HOST_TSO6);
    }
    if ((wanted & offered & VIRTIO_NET_F_MRG_RXBUF) != 0 && !room_for_large_frames(net)) {
        wanted &= ~VIRTIO_NET_F_MRG_RXBUF;
    }
    /* Large frames are taken in several buffers; 5.1.6.3.1 would also allow large buffers. */
    if ((wanted & offered & VIRTIO_NET_F_GUEST_CSUM) == 0 ||
        (wanted & offered & VIRTIO_NET_F_MRG_RXBUF) == 0) {
        wanted &= ~(VIRTIO_NET_F_GUEST_TSO4 | VIRTIO_NET_F_GUEST_TSO6);
    }
    if (!virtio_transport_negotiate(net->transport, wanted, &net->features, reason)) {
        return false;
    }
    choose_header(net);
    *reason = "a driver that polls needs a device that is not a legacy one";
    return !net->polling || (net->features & VIRTIO_F_VERSION_1) != 0;
}

static bool read_mac(struct virtio_net *net)
{
    struct virtio_config_field field[6];

    for (unsigned i = 0; i < 6; i++) {
        field[i] = (struct virtio_config_field){.offset = (uint16_t)(CONFIG_MAC + i), .bytes = 1};
    }
    if (!virtio_transport_read_config(net->transport, field, 6)) {
        return false;
    }
    for (unsigned i = 0; i < 6; i++) {
        net->mac[i] = (uint8_t)field[i].value;
    }
    /* A group address, or none at all, is no station's. */
    net->has_mac = (net->mac[0] & 1u) == 0 && memcmp(net->mac, (uint8_t[6]){0}, 6) != 0;
    return true;
}

static bool read_configuration(struct virtio_net *net, const char **reason)
{
    struct virtio_config_field mtu = {.offset = CONFIG_MTU, .bytes = 2};
    struct virtio_config_field status = {.offset = CONFIG_STATUS, .bytes = 2};
    struct virtio_transport *transport = net->transport;

    *reason = "the device's configuration is too short, or never stands still";
    if ((net->features & VIRTIO_NET_F_MAC) != 0 && !read_mac(net)) {
        return false;
    }
    if ((net->features & VIRTIO_NET_F_STATUS) != 0) {
        if (!virtio_transport_read_config(transport, &status, 1)) {
            return false;
        }
        net->link_up = (status.value & STATUS_LINK_UP) != 0;
    }
    if ((net->features & VIRTIO_NET_F_MTU) != 0) {
        if (!virtio_transport_read_config(transport, &mtu, 1)) {
            return false;
        }
        /* It can have changed since it was looked at; what matters is that its frames fit. */
        if (mtu.value < MTU_MIN ||
            mtu.value + ETHERNET_HEADER_BYTES + VIRTIO_NET_HEADER_BYTES > net->receive_bytes) {
            *reason = "the device changed its MTU to one that can't be served";
            return false;
        }
        net->mtu = (uint16_t)mtu.value;
    }
    return true;
}

/* The rings of the wanted size, or the nearest the device has. */
static bool create_ring(struct virtio_net *net, struct net_queue *queue, uint16_t index,
                        uint16_t wanted, const char **reason)
{
    uint16_t limit = net->transport->operations->queue_size_max(net->transport, index);
    struct virtqueue_options options = {
        .size = net->transport->queue_size_fixed ? limit : ring_size(wanted, limit),
        .features = net->features,
        .alignment = net->transport->legacy ? VIRTIO_LEGACY_ALIGNMENT : 0,
        .read_only = index == TRANSMIT_QUEUE,
    };

    if (limit == 0) {
        *reason = "the device lacks a queue that every network device has";
        return false;
    }
    if (index == TRANSMIT_QUEUE && (net->features & VIRTIO_F_INDIRECT_DESC) != 0) {
        uint16_t tables = options.size / 2u;

        options.indirect_tables = tables < INDIRECT_TABLES_MAX ? tables : INDIRECT_TABLES_MAX;
        options.indirect_entries =
            options.size < VIRTIO_NET_SEGMENTS_MAX ? options.size : VIRTIO_NET_SEGMENTS_MAX;
    }
    *reason = "no memory for the rings";
    return virtqueue_create(&queue->ring, &options);
}

static bool enable_queue(struct virtio_net *net, struct net_queue *queue, uint16_t index,
                         uint16_t vector, const char **reason)
{
    struct virtio_queue_setup setup = {.index = index, .vector = vector};

    virtqueue_describe(&queue->ring, &setup);
    net->memory_with_device = true;
    return net->transport->operations->queue_enable(net->transport, &setup, &queue->notification,
                                                    reason);
}

/* The vectors as net.h promises them. */
static bool enable_queues(struct virtio_net *net, const char **reason)
{
    static const uint16_t vector_of[4][3] = {
        {VIRTIO_NO_VECTOR, VIRTIO_NO_VECTOR, VIRTIO_NO_VECTOR}, {0, 0, 0}, {0, 1, 1}, {0, 1, 2}};
    uint16_t vectors = net->transport->vectors;
    const uint16_t *vector = vector_of[vectors < 3 ? vectors : 3];

    if (!net->transport->operations->set_config_vector(net->transport, vector[0])) {
        *reason = "the device refuses the configuration's interrupt vector";
        return false;
    }
    return enable_queue(net, &net->receive, RECEIVE_QUEUE, vector[1], reason) &&
           enable_queue(net, &net->transmit, TRANSMIT_QUEUE, vector[2], reason);
}

static bool set_up_queues(struct virtio_net *net, uint16_t tx_ring, const char **reason)
{
    unsigned entries = net->header_alone ? 2 : 1; /* of a receive buffer */
    uint16_t half;

    uint16_t wanted = (uint16_t)(net->exposed_max * entries);
    uint16_t fit;

    if (!create_ring(net, &net->receive, RECEIVE_QUEUE, wanted, reason) ||
        !create_ring(net, &net->transmit, TRANSMIT_QUEUE, tx_ring, reason)) {
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
        net->transmit_threshold = half < TRANSMIT_THRESHOLD_MIN ? half : TRANSMIT_THRESHOLD_MIN;
    }
    net->segments_max = at_most((uint16_t)(net->transmit.ring.size - net->header_alone),
                                VIRTIO_NET_FRAME_SEGMENTS_MAX);
    return enable_queues(net, reason);
}

/* 3.1.1, step by step. */
static bool start(struct virtio_net *net, uint16_t tx_ring, const char **reason)
{
    struct virtio_transport *transport = net->transport;
    virtio_lock_state state;

    if (!virtio_transport_begin(transport, reason) || !negotiate(net, reason) ||
        !read_configuration(net, reason) || !set_up_queues(net, tx_ring, reason)) {
        return false;
    }
    state = net_enter();
    if (!net->polling) {
        net_receive_expose(net);
    }
    net_leave(net, state);
    virtio_transport_add_status(transport, VIRTIO_STATUS_DRIVER_OK);
    state = net_enter();
    net->state = NET_RUNNING;
    if (!net->polling) {
        (void)virtqueue_enable(&net->receive.ring, 0); /* nothing is published yet */
        net_kick(net, &net->receive);
    }
    net_leave(net, state);
    return true;
}

struct virtio_net *virtio_net_create(struct virtio_transport *transport,
                                     const struct virtio_net_parameters *parameters,
                                     const struct virtio_net_operations *operations, void *context,
                                     const char **reason)
{
    const char *unused;
    struct virtio_net *net = NULL;

    reason = reason != NULL ? reason : &unused;
    *reason = NULL;
    if (transport->device_type != VIRTIO_DEVICE_NETWORK) {
        *reason = "not a network device";
        return NULL;
    }
    net = virtio_platform_allocate(sizeof(*net));
    if (net == NULL) {
        *reason = "no memory for the driver";
        return NULL;
    }
    net->transport = transport;
    net->operations = operations;
    net->context = context;
    set_parameters(net, parameters);
    if (!start(net, or_default(parameters->tx_ring, TX_RING_DEFAULT), reason)) {
        virtio_transport_add_status(transport, VIRTIO_STATUS_FAILED);
        if (virtio_net_stop(net)) {
            virtio_net_free(net);
        }
        return NULL;
    }
    return net;
}

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
    virtio_lock_state state = net_enter();

    net->state = NET_STOPPED;
    net_leave(net, state);
    /* From here on nobody else touches transport, rings, `received` and `waiting`. */
    return_held(net);
    if (net->memory_with_device) {
        if (!virtio_transport_reset(net->transport)) {
            virtio_platform_log("virtio-net: the device does not confirm a reset; it keeps %u "
                                "receive buffers and %u packets",
                                virtqueue_in_flight(&net->receive.ring),
                                virtqueue_in_flight(&net->transmit.ring));
            return false;
        }
        net->memory_with_device = false;
    }
    return_exposed(net);
    return true;
}

void virtio_net_free(struct virtio_net *net)
{
    if (net->memory_with_device) { /* the device may still write to it: lost rather than corrupted
                                    */
        return;
    }
    virtqueue_destroy(&net->receive.ring);
    virtqueue_destroy(&net->transmit.ring);
    virtio_platform_free(net, sizeof(*net));
}
