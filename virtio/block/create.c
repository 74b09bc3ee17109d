/* SPDX-License-Identifier: BSD-2-Clause */
/* The life of a driver: created with a started device, stopped, freed (VIRTIO 1.3, 3.1.1, 2.4). */
#include "block_private.h"
#include <string.h>

#define REQUEST_QUEUE    0u /* 5.2.2 */
#define REQUESTS_DEFAULT 64u
#define RING_MAX         256u
#define FRAMING          2u /* pieces of header and status */

/* Returns the size of the ring: the device's, a power of two, but not more than needed. */
static uint16_t ring_size(const struct virtio_block *block)
{
    uint16_t limit = block->transport->operations->queue_size_max(block->transport, REQUEST_QUEUE);
    uint16_t size = limit;

    if (!block->transport->queue_size_fixed && limit != 0) {
        for (size = 1; size * 2u <= limit && size < RING_MAX;) {
            size = (uint16_t)(size * 2u);
        }
    }
    return size;
}

/* Creates the ring. With indirect tables, a request may have many pieces and takes one entry. */
static bool create_queue(struct virtio_block *block, const char **reason)
{
    struct virtio_block_geometry *geometry = &block->geometry;
    struct virtqueue_options options = {
        .size = ring_size(block),
        .features = block->features,
        .alignment = block->transport->legacy ? VIRTIO_LEGACY_ALIGNMENT : 0,
        .pool = block->pool,
    };
    uint32_t pieces = options.size < BLOCK_PIECES_MAX ? options.size : BLOCK_PIECES_MAX;

    if (options.size <= FRAMING) {
        *reason = "it has no queue, or one without room for a request";
        return false;
    }
    if (geometry->segments_max > pieces - FRAMING) {
        geometry->segments_max = pieces - FRAMING;
    }
    if ((block->features & VIRTIO_F_INDIRECT_DESC) != 0) {
        options.indirect_tables =
            block->requests_max < options.size ? block->requests_max : options.size;
        options.indirect_entries = (uint16_t)(geometry->segments_max + FRAMING);
    }
    *reason = "no memory for the ring";
    block->has_queue = virtqueue_create(&block->queue, &options);
    return block->has_queue;
}

static bool create_slots(struct virtio_block *block, const char **reason)
{
    block->slots = virtio_dma_allocate(block->pool, block->requests_max * sizeof(*block->slots),
                                       sizeof(*block->slots), &block->slots_address);
    if (block->slots == NULL) {
        *reason = "no memory for requests";
        return false;
    }
    for (uint16_t i = 0; i < block->requests_max; i++) {
        block->free_slots[block->free_count++] = i;
    }
    return true;
}

static bool enable_queue(struct virtio_block *block, const char **reason)
{
    struct virtio_transport *transport = block->transport;
    uint16_t vector = transport->vectors == 0 ? VIRTIO_NO_VECTOR : 0;
    struct virtio_queue_setup setup = {
        .index = REQUEST_QUEUE,
        .vector = transport->vectors > 1 ? 1 : vector,
    };

    if (!transport->operations->set_config_vector(transport, vector)) {
        *reason = "the device refuses the configuration's interrupt vector";
        return false;
    }
    virtqueue_describe(&block->queue, &setup);
    block->memory_with_device = true;
    return transport->operations->queue_enable(transport, &setup, &block->notification, reason);
}

static bool start_device(struct virtio_block *block, uint64_t features_off, const char **reason)
{
    if (block->pool != NULL && !block_bounce_plan(block, reason)) {
        return false;
    }
    if (!virtio_transport_begin(block->transport, reason) ||
        !block_negotiate(block, features_off, reason) || !create_queue(block, reason) ||
        !create_slots(block, reason) ||
        (block->pool != NULL && !block_bounce_create(block, reason)) ||
        !enable_queue(block, reason)) {
        return false;
    }
    virtio_transport_add_status(block->transport, VIRTIO_STATUS_DRIVER_OK);
    return true;
}

struct virtio_block *virtio_block_create(struct virtio_transport *transport,
                                         const struct virtio_block_parameters *parameters,
                                         const struct virtio_block_operations *operations,
                                         void *context, const char **reason)
{
    struct virtio_block *block;
    uint16_t requests = parameters->requests != 0 ? parameters->requests : REQUESTS_DEFAULT;

    *reason = NULL;
    if (transport->device_type != VIRTIO_DEVICE_BLOCK) {
        *reason = "not a block device";
        return NULL;
    }
    block = virtio_platform_allocate(sizeof(*block));
    if (block == NULL) {
        *reason = "no memory for the driver";
        return NULL;
    }
    block->transport = transport;
    block->pool = transport->pool;
    block->operations = operations;
    block->context = context;
    block->requests_max =
        requests < VIRTIO_BLOCK_REQUESTS_MAX ? requests : VIRTIO_BLOCK_REQUESTS_MAX;
    if (!start_device(block, parameters->features_off, reason)) {
        virtio_transport_add_status(transport, VIRTIO_STATUS_FAILED);
        if (virtio_block_stop(block)) {
            virtio_block_free(block);
        }
        return NULL;
    }
    *reason = NULL;
    return block;
}

/* Returns the requests that were with the device. */
static void return_requests(struct virtio_block *block)
{
    uint16_t position = 0;
    struct virtio_block_request *request;
    struct virtio_block_request **link = &block->returned;

    while (*link != NULL) {
        link = &(*link)->next;
    }
    while ((request = virtqueue_detach(&block->queue, &position)) != NULL) {
        request->result = VIRTIO_BLOCK_LOST;
        request->next = NULL;
        *link = request;
        link = &request->next;
    }
}

bool virtio_block_stop(struct virtio_block *block)
{
    virtio_lock_state state = virtio_platform_lock();

    block->state = BLOCK_STOPPED;
    virtio_platform_unlock(state);
    if (block->memory_with_device) {
        /* Without an enabled queue, the device has none of the driver's memory even without a
         * reset. */
        if (!virtio_transport_reset(block->transport) && block->transport->queues != 0) {
            virtio_platform_log("virtio-block: the device does not confirm a reset; its requests "
                                "stay with it");
            return false;
        }
        block->memory_with_device = false;
    }
    if (block->has_queue) {
        return_requests(block);
    }
    return true;
}

bool virtio_block_is_stopped(const struct virtio_block *block)
{
    return block->state == BLOCK_STOPPED && !block->memory_with_device;
}

void virtio_block_free(struct virtio_block *block)
{
    if (block->memory_with_device) { /* not freed, because the device may still write to it */
        return;
    }
    if (block->has_queue) {
        virtqueue_destroy(&block->queue);
    }
    if (block->slots != NULL) {
        virtio_dma_free(block->pool, block->slots, block->requests_max * sizeof(*block->slots));
    }
    block_bounce_free(block);
    virtio_platform_free(block, sizeof(*block));
}
