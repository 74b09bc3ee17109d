/* SPDX-License-Identifier: BSD-2-Clause */
/* Allocates a virtqueue's memory and lays it out (VIRTIO 1.3, 2.7 and 2.8). */
#include "queue_private.h"
#include <string.h>

/*
 * Bytes. Descriptors, driver area and device area must be aligned to 16, 2 and 4 (2.7), or to 16, 4
 * and 4 (2.8.10.1). The driver and the device write to different cache lines, so that the writes of
 * one do not slow the reads of the other. A legacy device sets the alignment
 * itself (2.7.2).
 */
#define DESCRIPTORS_ALIGNMENT 16u
#define AVAILABLE_ALIGNMENT   2u
#define LINE_ALIGNMENT        64u

static size_t align_up(size_t value, size_t alignment)
{
    return (value + alignment - 1) & ~(alignment - 1);
}

/* Offsets in bytes from the descriptors. */
struct offsets {
    size_t driver_area;
    size_t device_area;
    size_t tables; /* the indirect ones */
    size_t end;
};

static struct offsets offsets(const struct virtqueue *queue)
{
    size_t ring = sizeof(struct virtqueue_descriptor) * queue->size;
    struct offsets at;

    if (queue->packed) {
        at.driver_area = align_up(ring, queue->alignment);
        at.device_area = align_up(at.driver_area + sizeof(uint32_t), queue->alignment);
        at.tables = at.device_area + sizeof(uint32_t);
    } else { /* flags, index, ring, and used_event or avail_event */
        at.driver_area = align_up(ring, AVAILABLE_ALIGNMENT);
        at.device_area =
            align_up(at.driver_area + sizeof(uint16_t) * (3u + queue->size), queue->alignment);
        at.tables = at.device_area + sizeof(uint16_t) * 3u +
                    sizeof(struct virtqueue_used_element) * queue->size;
    }
    at.tables = align_up(at.tables, DESCRIPTORS_ALIGNMENT);
    at.end = at.tables +
             sizeof(struct virtqueue_descriptor) * queue->indirect_tables * queue->indirect_entries;
    return at;
}

static void lay_out(struct virtqueue *queue, uint8_t *memory)
{
    struct offsets at = offsets(queue);

    queue->descriptors = (void *)memory;
    if (queue->packed) {
        queue->driver_event = (void *)(memory + at.driver_area);
        queue->device_event = (void *)(memory + at.device_area);
    } else {
        queue->available = (void *)(memory + at.driver_area);
        queue->used = (void *)(memory + at.device_area);
    }
    queue->tables = (void *)(memory + at.tables);
    queue->tables_address = queue->address + at.tables;
}

void virtqueue_reset(struct virtqueue *queue)
{
    memset(queue->descriptors, 0, virtqueue_shared_bytes(queue));
    for (uint16_t i = 0; i < queue->size; i++) {
        queue->slots[i] = (struct virtqueue_slot){.next = (uint16_t)((i + 1u) & queue->mask)};
    }
    for (uint16_t i = 0; i < queue->indirect_tables; i++) {
        queue->free_tables[i] = i;
    }
    queue->free_table_count = queue->indirect_tables;
    queue->free_count = queue->size;
    queue->free_first = 0;
    queue->added = 0;
    queue->published = 0;
    queue->taken = 0;
    queue->used_seen = 0;
    queue->ring_added = 0;
    queue->ring_published = 0;
    queue->ring_taken = 0;
    queue->oldest = 0;
    queue->batch = 0;
    queue->broken = NULL;
    /* Zeroed rings have interrupts enabled, so they are suppressed until virtqueue_enable(). */
    queue->interrupts_on = true;
    virtqueue_suppress(queue);
}

bool virtqueue_create(struct virtqueue *queue, const struct virtqueue_options *options)
{
    uint16_t size = options->size;
    void *memory = NULL;

    *queue = (struct virtqueue){0};
    if (size == 0 || (size & (size - 1u)) != 0 || size > VIRTQUEUE_SIZE_MAX ||
        options->indirect_tables > size || options->indirect_entries > size) {
        return false;
    }
    queue->size = size;
    queue->mask = (uint16_t)(size - 1u);
    queue->packed = (options->features & VIRTIO_F_RING_PACKED) != 0;
    queue->event_index = (options->features & VIRTIO_F_EVENT_IDX) != 0;
    queue->in_order = (options->features & VIRTIO_F_IN_ORDER) != 0;
    queue->by_index = queue->in_order && !queue->packed && options->by_index;
    queue->length_clamped = options->length_clamped;
    queue->order_platform = (options->features & VIRTIO_F_ORDER_PLATFORM) != 0;
    queue->indirect_tables = options->indirect_entries == 0 ? 0 : options->indirect_tables;
    queue->indirect_entries = options->indirect_entries;
    queue->alignment = options->alignment != 0 ? options->alignment : LINE_ALIGNMENT;
    queue->pool = options->pool;
    queue->slots = virtio_platform_allocate(virtqueue_private_bytes(queue));
    if (queue->slots != NULL) {
        queue->free_tables = (uint16_t *)&queue->slots[queue->size];
        memory = virtio_dma_allocate(queue->pool, virtqueue_shared_bytes(queue), queue->alignment,
                                     &queue->address);
    }
    if (memory == NULL) {
        virtqueue_destroy(queue);
        return false;
    }
    lay_out(queue, memory);
    virtqueue_reset(queue);
    return true;
}

void virtqueue_destroy(struct virtqueue *queue)
{
    if (queue->descriptors != NULL) {
        virtio_dma_free(queue->pool, queue->descriptors, virtqueue_shared_bytes(queue));
    }
    if (queue->slots != NULL) {
        virtio_platform_free(queue->slots, virtqueue_private_bytes(queue));
    }
    *queue = (struct virtqueue){0};
}

void virtqueue_describe(const struct virtqueue *queue, struct virtio_queue_setup *setup)
{
    struct offsets at = offsets(queue);

    setup->size = queue->size;
    setup->descriptors = queue->address;
    setup->driver_area = queue->address + at.driver_area;
    setup->device_area = queue->address + at.device_area;
}

size_t virtqueue_shared_bytes(const struct virtqueue *queue)
{
    return offsets(queue).end;
}

size_t virtqueue_private_bytes(const struct virtqueue *queue)
{
    return sizeof(struct virtqueue_slot) * queue->size + sizeof(uint16_t) * queue->indirect_tables;
}
