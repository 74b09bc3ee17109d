/* SPDX-License-Identifier: BSD-2-Clause */
/* Starts and stops the device (VIRTIO 1.3, 3.1.1, 2.4.1), and says what is known of it. */
#include "polled_private.h"
#include "virtio/barrier.h"
#include <string.h>

/* MAC and STATUS are all that the driver uses of a network device. The other two say how it has to
 * access memory that it shares with the device (6). */
#define FEATURES_WANTED                                                                           \
    (VIRTIO_F_VERSION_1 | VIRTIO_F_ACCESS_PLATFORM | VIRTIO_F_ORDER_PLATFORM | VIRTIO_NET_F_MAC | \
     VIRTIO_NET_F_STATUS)

/* 5.1.4: struct virtio_net_config */
#define CONFIG_MAC     0u
#define CONFIG_STATUS  6u
#define STATUS_LINK_UP 0x1u

#define QUEUE_RECEIVE  0u /* 5.1.2 */
#define QUEUE_TRANSMIT 1u

static bool allocate_ring(struct virtio_polled *polled, struct polled_queue *queue)
{
    queue->ring =
        virtio_dma_allocate(polled->pool, sizeof(*queue->ring), RING_ALIGNMENT, &queue->address);
    return queue->ring != NULL;
}

static void free_ring(struct virtio_polled *polled, struct polled_queue *queue)
{
    if (queue->ring != NULL) {
        virtio_dma_free(polled->pool, queue->ring, sizeof(*queue->ring));
        queue->ring = NULL;
    }
}

static void free_rings(struct virtio_polled *polled)
{
    free_ring(polled, &polled->receive);
    free_ring(polled, &polled->transmit);
}

static bool allocate_rings(struct virtio_polled *polled)
{
    return allocate_ring(polled, &polled->receive) && allocate_ring(polled, &polled->transmit);
}

struct virtio_polled *virtio_polled_create(struct virtio_pool *pool)
{
    struct virtio_polled *polled = virtio_platform_allocate(sizeof(*polled));

    if (polled == NULL) {
        return NULL;
    }
    polled->pool = pool;
    if (pool == NULL && !allocate_rings(polled)) {
        virtio_polled_destroy(polled);
        return NULL;
    }
    return polled;
}

void virtio_polled_destroy(struct virtio_polled *polled)
{
    if (polled->memory_with_device) { /* not freed, because the device may still write to it */
        return;
    }
    free_rings(polled);
    virtio_platform_free(polled, sizeof(*polled));
}

/* Puts a ring into its first state: all buffers are with the driver. `flags`: of each descriptor.
 */
static void clear_queue(struct polled_queue *queue, uint16_t size, uint16_t flags)
{
    struct polled_ring *ring = queue->ring;

    *queue = (struct polled_queue){.ring = ring, .address = queue->address, .size = size};
    memset(ring, 0, offsetof(struct polled_ring, buffer));
    virtio_shared_store16(&ring->available.flags, AVAILABLE_NO_INTERRUPT);
    for (unsigned i = 0; i < size; i++) {
        virtio_address buffer =
            queue->address + offsetof(struct polled_ring, buffer) + (uint64_t)i * BUFFER_BYTES;

        ring->descriptor[i].address = virtio_le64(buffer);
        ring->descriptor[i].bytes = virtio_le32(BUFFER_BYTES);
        ring->descriptor[i].flags = virtio_le16(flags);
    }
}

/* Returns the largest power of two that is at most `limit` and ENTRIES; 0 if `limit` is 0. */
static uint16_t ring_size(uint16_t limit)
{
    uint16_t size = ENTRIES;

    while (size > limit) {
        size /= 2;
    }
    return size;
}

static bool enable_queue(struct virtio_polled *polled, struct polled_queue *queue, uint16_t index,
                         uint16_t flags, const char **reason)
{
    struct virtio_transport *transport = polled->transport;
    uint16_t size = ring_size(transport->operations->queue_size_max(transport, index));
    struct virtio_queue_setup setup = {
        .index = index,
        .size = size,
        .vector = VIRTIO_NO_VECTOR,
        .descriptors = queue->address + offsetof(struct polled_ring, descriptor),
        .driver_area = queue->address + offsetof(struct polled_ring, available),
        .device_area = queue->address + offsetof(struct polled_ring, used),
    };

    if (size == 0) {
        *reason = "the device lacks a queue that every network device has";
        return false;
    }
    clear_queue(queue, size, flags);
    polled->memory_with_device = true;
    return transport->operations->queue_enable(transport, &setup, &queue->notification, reason);
}

static bool read_mac(struct virtio_polled *polled)
{
    static const uint8_t none[6] = {0};
    struct virtio_config_field field[6];

    for (unsigned i = 0; i < 6; i++) {
        field[i] = (struct virtio_config_field){.offset = (uint16_t)(CONFIG_MAC + i), .bytes = 1};
    }
    if (!virtio_transport_read_config(polled->transport, field, 6)) {
        return false;
    }
    for (unsigned i = 0; i < 6; i++) {
        polled->mac[i] = (uint8_t)field[i].value;
    }
    /* A group address and the address 0 are no station addresses. */
    polled->has_mac = (polled->mac[0] & 1u) == 0 && memcmp(polled->mac, none, sizeof(none)) != 0;
    return true;
}

void polled_read_link(struct virtio_polled *polled)
{
    struct virtio_config_field field = {.offset = CONFIG_STATUS, .bytes = 2};

    /* If the configuration can't be read consistently, the last state stays valid. */
    if ((polled->features & VIRTIO_NET_F_STATUS) != 0 &&
        virtio_transport_read_config(polled->transport, &field, 1)) {
        polled->link_up = (field.value & STATUS_LINK_UP) != 0;
    }
}

/* Follows 3.1.1, steps 1 to 7. Returns false if a step fails, with the reason in *reason. */
static bool set_up(struct virtio_polled *polled, const char **reason)
{
    struct virtio_transport *transport = polled->transport;

    if (!virtio_transport_begin(transport, reason) ||
        !virtio_transport_negotiate(transport, FEATURES_WANTED, &polled->features, reason)) {
        return false;
    }
    *reason = "the device's configuration is too short, or changes all the time";
    if ((polled->features & VIRTIO_NET_F_MAC) != 0 && !read_mac(polled)) {
        return false;
    }
    polled_read_link(polled);
    *reason = "the device refuses to have no interrupt vector";
    return transport->operations->set_config_vector(transport, VIRTIO_NO_VECTOR) &&
           enable_queue(polled, &polled->receive, QUEUE_RECEIVE, DESCRIPTOR_FOR_DEVICE_TO_WRITE,
                        reason) &&
           enable_queue(polled, &polled->transmit, QUEUE_TRANSMIT, 0, reason);
}

bool virtio_polled_start(struct virtio_polled *polled, struct virtio_transport *transport,
                         const char **reason)
{
    if (transport->device_type != VIRTIO_DEVICE_NETWORK) {
        *reason = "not a network device";
        return false;
    }
    if (transport->legacy) {
        *reason = "the polled driver does not support legacy devices";
        return false;
    }
    if (transport->pool != polled->pool) {
        *reason = "the polled driver was created for another pool";
        return false;
    }
    polled->transport = transport;
    polled->broken = NULL;
    polled->has_mac = false;
    polled->link_up = true;
    polled->statistics = (struct virtio_net_statistics){0};
    /* A pool has no room for the rings of both drivers: the ordinary one has freed its own. */
    if (polled->pool != NULL && !allocate_rings(polled)) {
        *reason = "no memory for the rings in the pool";
        return false;
    }
    if (!set_up(polled, reason)) {
        virtio_transport_add_status(transport, VIRTIO_STATUS_FAILED);
        return false;
    }
    virtio_transport_add_status(transport, VIRTIO_STATUS_DRIVER_OK);
    polled->running = true;
    polled_expose_all(polled);
    virtio_polled_flush(polled);
    return true;
}

/* Counts the buffers of a queue that come back by a reset. */
static void count_returned(struct polled_queue *queue, uint64_t *returned)
{
    *returned += queue->with_device;
    queue->with_device = 0;
    memset(queue->has, 0, sizeof(queue->has));
}

bool virtio_polled_stop(struct virtio_polled *polled)
{
    polled->running = false;
    /* If no queue is enabled, the device has none of the driver's memory even without a reset. */
    if (polled->memory_with_device && !virtio_transport_reset(polled->transport) &&
        polled->transport->queues != 0) {
        return false;
    }
    polled->memory_with_device = false;
    count_returned(&polled->receive, &polled->statistics.rx_buffers_returned);
    count_returned(&polled->transmit, &polled->statistics.tx_returned);
    if (polled->pool != NULL) {
        free_rings(polled);
    }
    return true;
}

const char *virtio_polled_broken(const struct virtio_polled *polled)
{
    return polled->broken;
}

bool virtio_polled_link_up(const struct virtio_polled *polled)
{
    return polled->link_up;
}

bool virtio_polled_mac(const struct virtio_polled *polled, uint8_t mac[6])
{
    if (polled->has_mac) {
        memcpy(mac, polled->mac, sizeof(polled->mac));
    }
    return polled->has_mac;
}

uint64_t virtio_polled_features(const struct virtio_polled *polled)
{
    return polled->features;
}

void virtio_polled_statistics(const struct virtio_polled *polled,
                              struct virtio_net_statistics *statistics)
{
    *statistics = polled->statistics;
    statistics->rx_exposed = polled->receive.with_device;
    statistics->rx_target = polled->receive.size;
    statistics->tx_in_flight = polled->transmit.with_device;
    statistics->notifications_rx = polled->receive.notifications;
    statistics->notifications_tx = polled->transmit.notifications;
}
