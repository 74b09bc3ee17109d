/* SPDX-License-Identifier: BSD-2-Clause */
/* Split virtqueues (VIRTIO 1.3, 2.7): memory and its layout. */
#include "split_layout.h"
#include "virtio/barrier.h"
#include "virtio/virtqueue.h"

static size_t align_up(size_t value, size_t alignment)
{
    return (value + alignment - 1) & ~(alignment - 1);
}

static size_t available_offset(uint16_t size)
{
    return align_up(sizeof(struct virtqueue_descriptor) * size, AVAILABLE_ALIGNMENT);
}

static size_t used_offset(uint16_t size, uint16_t alignment)
{
    /* flags, index, ring, used_event */
    return align_up(available_offset(size) + sizeof(uint16_t) * (3u + size), alignment);
}

static size_t tables_offset(uint16_t size, uint16_t alignment)
{
    /* flags, index, ring, avail_event */
    return align_up(used_offset(size, alignment) + sizeof(uint16_t) * 3u +
                        sizeof(struct virtqueue_used_element) * size,
                    DESCRIPTORS_ALIGNMENT);
}

static uint16_t alignment_of(const struct virtqueue_options *options)
{
    return options->alignment != 0 ? options->alignment : QUEUE_ALIGNMENT;
}

static size_t shared_bytes(const struct virtqueue_options *options)
{
    return tables_offset(options->size, alignment_of(options)) +
           sizeof(struct virtqueue_descriptor) * options->indirect_tables *
               options->indirect_entries;
}

static bool options_valid(const struct virtqueue_options *options)
{
    uint16_t size = options->size;

    return size != 0 && (size & (size - 1u)) == 0 && size <= VIRTQUEUE_SIZE_MAX &&
           options->indirect_tables <= size && options->indirect_entries <= size;
}

static size_t slots_bytes(const struct virtqueue *queue)
{
    return sizeof(struct virtqueue_slot) * queue->size;
}

static size_t free_tables_bytes(const struct virtqueue *queue)
{
    return sizeof(uint16_t) * queue->indirect_tables;
}

static void *at(void *memory, size_t offset)
{
    return (uint8_t *)memory + offset;
}

static void lay_out(struct virtqueue *queue, void *memory)
{
    uint16_t size = queue->size;

    queue->descriptors = memory;
    queue->available = at(memory, available_offset(size));
    queue->used = at(memory, used_offset(size, queue->alignment));
    queue->used_event = at(queue->available, offsetof(struct virtqueue_available, ring[size]));
    queue->available_event = at(queue->used, offsetof(struct virtqueue_used, ring[size]));
    queue->tables = at(memory, tables_offset(size, queue->alignment));
    queue->tables_address = queue->address + tables_offset(size, queue->alignment);
}

static void fill_free_lists(struct virtqueue *queue)
{
    for (uint16_t i = 0; i < queue->size; i++) {
        queue->slots[i].next = (uint16_t)(i + 1u);
    }
    queue->free_count = queue->size;
    for (uint16_t i = 0; i < queue->indirect_tables; i++) {
        queue->free_tables[i] = i;
    }
    queue->free_table_count = queue->indirect_tables;
}

bool virtqueue_create(struct virtqueue *queue, const struct virtqueue_options *options)
{
    void *memory = NULL;

    *queue = (struct virtqueue){0};
    if (!options_valid(options)) {
        return false;
    }
    queue->size = options->size;
    queue->mask = (uint16_t)(options->size - 1u);
    queue->event_index = options->event_index;
    queue->indirect_tables = options->indirect_entries == 0 ? 0 : options->indirect_tables;
    queue->indirect_entries = options->indirect_entries;
    queue->alignment = alignment_of(options);
    queue->shared_bytes = shared_bytes(options);
    queue->slots = virtio_platform_allocate(slots_bytes(queue));
    if (queue->indirect_tables != 0) {
        queue->free_tables = virtio_platform_allocate(free_tables_bytes(queue));
    }
    if (queue->slots != NULL && (queue->indirect_tables == 0 || queue->free_tables != NULL)) {
        memory =
            virtio_platform_dma_allocate(queue->shared_bytes, queue->alignment, &queue->address);
    }
    if (memory == NULL) {
        virtqueue_destroy(queue);
        return false;
    }
    lay_out(queue, memory);
    fill_free_lists(queue);
    queue->interrupts_on = true; /* what zeroed rings say; the caller has not asked for any yet */
    virtqueue_suppress(queue);
    return true;
}

void virtqueue_destroy(struct virtqueue *queue)
{
    if (queue->descriptors != NULL) {
        virtio_platform_dma_free(queue->descriptors, queue->shared_bytes);
    }
    if (queue->free_tables != NULL) {
        virtio_platform_free(queue->free_tables, free_tables_bytes(queue));
    }
    if (queue->slots != NULL) {
        virtio_platform_free(queue->slots, slots_bytes(queue));
    }
    *queue = (struct virtqueue){0};
}

void virtqueue_describe(const struct virtqueue *queue, struct virtio_queue_setup *setup)
{
    setup->size = queue->size;
    setup->descriptors = queue->address;
    setup->driver_area = queue->address + available_offset(queue->size);
    setup->device_area = queue->address + used_offset(queue->size, queue->alignment);
}

size_t virtqueue_shared_bytes(const struct virtqueue *queue)
{
    return queue->shared_bytes;
}

size_t virtqueue_private_bytes(const struct virtqueue *queue)
{
    return slots_bytes(queue) + free_tables_bytes(queue);
}
