/* SPDX-License-Identifier: BSD-2-Clause */
/* See virtio/entropy.h. */
#include "virtio/entropy.h"
#include "virtio/virtqueue.h"
#include <string.h>

#define REQUEST_QUEUE 0u /* 5.4.2 */
#define RING_SIZE     2u
#define BUFFER_BYTES  64u

#define FEATURES_KNOWN                                                                          \
    (VIRTIO_F_VERSION_1 | VIRTIO_F_ACCESS_PLATFORM | VIRTIO_F_RING_PACKED | VIRTIO_F_IN_ORDER | \
     VIRTIO_F_ORDER_PLATFORM)

struct entropy {
    struct virtio_transport *transport;
    struct virtqueue queue;
    bool has_queue;
    struct virtio_notification notification;
    uint8_t *buffer; /* shared with the device */
    virtio_address buffer_address;
};

/* Returns true if the device and its queue are ready (3.1.1). */
static bool start(struct entropy *entropy, const char **reason)
{
    struct virtio_transport *transport = entropy->transport;
    struct virtqueue_options options = {
        .alignment = transport->legacy ? VIRTIO_LEGACY_ALIGNMENT : 0,
        .pool = transport->pool,
    };
    struct virtio_queue_setup setup = {.index = REQUEST_QUEUE, .vector = VIRTIO_NO_VECTOR};
    uint16_t limit;

    if (!virtio_transport_begin(transport, reason) ||
        !virtio_transport_negotiate(transport, FEATURES_KNOWN, &options.features, reason)) {
        return false;
    }
    limit = transport->operations->queue_size_max(transport, REQUEST_QUEUE);
    if (limit == 0) {
        *reason = "it has no queue";
        return false;
    }
    options.size = transport->queue_size_fixed || limit < RING_SIZE ? limit : RING_SIZE;
    entropy->has_queue = virtqueue_create(&entropy->queue, &options);
    if (!entropy->has_queue) {
        *reason = "no memory for the ring";
        return false;
    }
    virtqueue_suppress(&entropy->queue);
    virtqueue_describe(&entropy->queue, &setup);
    if (!transport->operations->queue_enable(transport, &setup, &entropy->notification, reason)) {
        return false;
    }
    virtio_transport_add_status(transport, VIRTIO_STATUS_DRIVER_OK);
    return true;
}

/* Requests `bytes` bytes and waits for the answer. Returns the number of bytes received (5.4.6: at
 * least one, possibly fewer than requested), 0 if none arrived in time. */
static uint32_t request(struct entropy *entropy, size_t bytes, uint64_t deadline)
{
    struct virtqueue_segment segment = {
        .address = entropy->buffer_address,
        .bytes = bytes < BUFFER_BYTES ? (uint32_t)bytes : BUFFER_BYTES,
    };
    uint32_t written = 0;

    if (!virtqueue_add(&entropy->queue, &segment, 0, 1, entropy->buffer)) {
        return 0;
    }
    if (virtqueue_publish(&entropy->queue)) {
        entropy->transport->operations->notify(entropy->transport, &entropy->notification);
    }
    while (virtqueue_take(&entropy->queue, &written) == NULL) {
        if (entropy->queue.broken != NULL || virtio_platform_now() >= deadline) {
            return 0;
        }
        virtio_platform_pause();
    }
    return written <= segment.bytes ? written : 0;
}

static bool read_bytes(struct entropy *entropy, uint8_t *data, size_t bytes, uint64_t deadline,
                       const char **reason)
{
    size_t done = 0;

    while (done < bytes) {
        uint32_t got = request(entropy, bytes - done, deadline);

        if (got == 0) {
            *reason = entropy->queue.broken != NULL ? entropy->queue.broken
                                                    : "it delivers nothing in time";
            return false;
        }
        memcpy(data + done, entropy->buffer, got);
        done += got;
    }
    return true;
}

/* The device may write to the memory until it confirms the reset (2.4.1). Without an enabled queue
 * it knows no memory of the driver. */
static void stop(struct entropy *entropy)
{
    uint16_t position = 0;

    if (!virtio_transport_reset(entropy->transport) && entropy->transport->queues != 0) {
        return;
    }
    if (entropy->has_queue) {
        while (virtqueue_detach(&entropy->queue, &position) != NULL) {
        }
        virtqueue_destroy(&entropy->queue);
    }
    memset(entropy->buffer, 0, BUFFER_BYTES);
    virtio_dma_free(entropy->transport->pool, entropy->buffer, BUFFER_BYTES);
}

bool virtio_entropy_read(struct virtio_transport *transport, void *data, size_t bytes,
                         uint64_t deadline, const char **reason)
{
    struct entropy entropy = {.transport = transport};
    bool read;

    *reason = NULL;
    if (transport->device_type != VIRTIO_DEVICE_ENTROPY) {
        *reason = "not an entropy device";
        return false;
    }
    entropy.buffer =
        virtio_dma_allocate(transport->pool, BUFFER_BYTES, BUFFER_BYTES, &entropy.buffer_address);
    if (entropy.buffer == NULL) {
        *reason = "no memory for its buffer";
        return false;
    }
    read = start(&entropy, reason) && read_bytes(&entropy, data, bytes, deadline, reason);
    stop(&entropy);
    return read;
}
