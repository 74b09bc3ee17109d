/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The device's side of a split virtqueue. The positions in both rings are in private memory: the
 * used index is read from the ring once, when a later life of the device resumes.
 */
#include "virtio/device_queue.h"

#include "virtio/barrier.h"
#include "virtio/features.h"
#include "virtio/virtqueue_layout.h"

#define DESCRIPTORS_ALIGNMENT 16u /* 2.7 */
#define AVAILABLE_ALIGNMENT   2u
#define USED_ALIGNMENT        4u

#define DESCRIPTOR_WORDS (sizeof(struct virtqueue_descriptor) / sizeof(uint32_t))

/* A table of descriptors: the queue's, or an indirect one, which may begin at any multiple of four.
 */
struct table {
    const uint32_t *words; /* DESCRIPTOR_WORDS each */
    uint32_t entries;
    bool is_indirect;
};

/* A descriptor, read once. */
struct reading {
    uint64_t address;
    uint32_t bytes;
    unsigned flags;
    uint16_t next;
};

static bool break_queue(struct device_queue *queue, const char *reason)
{
    queue->broken = reason;
    return false;
}

static uint16_t *used_event(const struct device_queue *queue)
{
    return &queue->available->ring[queue->size];
}

static uint16_t *available_event(const struct device_queue *queue)
{
    return (uint16_t *)&queue->used->ring[queue->size];
}

/* Returns the memory of a part of the queue, NULL if it is not the driver's to give, or is not
 * aligned as 2.7 demands. */
static void *part(const struct device_queue *queue, virtio_address address, uint64_t bytes,
                  unsigned alignment)
{
    uint8_t *memory = device_memory_at(queue->memory, address, bytes);

    /* Here, too: a region may begin anywhere. */
    return address % alignment == 0 && (uintptr_t)memory % alignment == 0 ? memory : NULL;
}

const char *device_queue_start(struct device_queue *queue, const struct device_memory *memory,
                               const struct device_queue_setup *setup, bool resumed)
{
    uint64_t size = setup->size;

    *queue = (struct device_queue){
        .memory = memory,
        .broken = "no queue",
        .size = setup->size,
        .event_index = (setup->features & VIRTIO_F_EVENT_IDX) != 0,
        .indirect = (setup->features & VIRTIO_F_INDIRECT_DESC) != 0,
    };
    /* 2.7: a power of two. */
    if (size == 0 || size > DEVICE_QUEUE_SIZE_MAX || (size & (size - 1)) != 0) {
        return queue->broken = "the size of the queue is no power of two, or too large";
    }
    queue->descriptors =
        part(queue, setup->descriptors, size * sizeof(*queue->descriptors), DESCRIPTORS_ALIGNMENT);
    /* Flags, index, the ring and used_event; flags, index, the ring and avail_event. */
    queue->available =
        part(queue, setup->driver_area, (3 + size) * sizeof(uint16_t), AVAILABLE_ALIGNMENT);
    queue->used =
        part(queue, setup->device_area,
             3 * sizeof(uint16_t) + size * sizeof(struct virtqueue_used_element), USED_ALIGNMENT);
    if (queue->descriptors == NULL || queue->available == NULL || queue->used == NULL) {
        return queue->broken = "a part of the queue is not aligned, or not in the memory that the "
                               "device may access";
    }
    if (resumed) {
        queue->published = virtio_shared_load16(&queue->used->index);
        queue->finished = queue->published;
        queue->taken = queue->published;
        queue->available_seen = queue->published;
    }
    return queue->broken = NULL;
}

/* Reads the available index. Returns true if there are chains that were not taken. */
static bool read_available_index(struct device_queue *queue)
{
    uint16_t index = virtio_shared_load16(&queue->available->index);

    /* A chain has at least one descriptor, so no more chains than the queue has of these are with
     * the device. An index behind what was taken is too far ahead, too. */
    if ((uint16_t)(index - queue->taken) > queue->size - device_queue_in_flight(queue)) {
        return break_queue(queue, "an available index ahead of the queue's size");
    }
    /* 2.7.13.3.1: the driver writes the ring before the index that announces its entries. */
    virtio_barrier(VIRTIO_BARRIER_OBSERVE, false);
    queue->available_seen = index;
    return index != queue->taken;
}

/* Reads each word of a descriptor once (2.7.5). */
static struct reading read_descriptor(const struct table *table, uint32_t number)
{
    const uint32_t *words = &table->words[number * DESCRIPTOR_WORDS];
    uint32_t flags_and_next = virtio_shared_load32(&words[3]);

    return (struct reading){
        .address = virtio_shared_load32(&words[0]) | (uint64_t)virtio_shared_load32(&words[1])
                                                         << 32,
        .bytes = virtio_shared_load32(&words[2]),
        .flags = flags_and_next & UINT16_MAX,
        .next = (uint16_t)(flags_and_next >> 16),
    };
}

/* Adds a segment to the chain. */
static bool add_segment(struct device_queue *queue, struct device_chain *chain,
                        const struct reading *descriptor)
{
    bool is_writable = (descriptor->flags & DESCRIPTOR_WRITE) != 0;
    uint32_t *bytes = is_writable ? &chain->writable_bytes : &chain->readable_bytes;
    struct device_segment *segment = &chain->segments[chain->readable + chain->writable];

    if (descriptor->bytes == 0) {
        return true;
    }
    if (!is_writable && chain->writable != 0) { /* 2.7.4.2 */
        return break_queue(queue, "a readable descriptor behind a writable one");
    }
    /* 2.7.5.2: at most 2^32 bytes in all. */
    if (__builtin_add_overflow(*bytes, descriptor->bytes, bytes)) {
        return break_queue(queue, "a chain of too many bytes");
    }
    segment->memory = device_memory_at(queue->memory, descriptor->address, descriptor->bytes);
    segment->bytes = descriptor->bytes;
    if (segment->memory == NULL) {
        return break_queue(queue, "a buffer outside of the memory that the device may access");
    }
    if (is_writable) {
        chain->writable++;
    } else {
        chain->readable++;
    }
    return true;
}

/* Follows a descriptor of the queue to its indirect table. */
static bool enter_table(struct device_queue *queue, const struct reading *descriptor,
                        struct table *table)
{
    uint32_t entries = descriptor->bytes / sizeof(struct virtqueue_descriptor);

    if (!queue->indirect || table->is_indirect) { /* 2.7.5.3.1 */
        return break_queue(queue, "an indirect descriptor that is not allowed");
    }
    if ((descriptor->flags & DESCRIPTOR_NEXT) != 0) { /* 2.7.5.3.1 */
        return break_queue(queue, "an indirect descriptor with a next one");
    }
    /* 2.7.5.3.1: no chain is longer than the queue. */
    if (entries == 0 || descriptor->bytes % sizeof(struct virtqueue_descriptor) != 0 ||
        entries > queue->size) {
        return break_queue(queue, "an indirect table of an invalid size");
    }
    table->words = part(queue, descriptor->address, descriptor->bytes, sizeof(uint32_t));
    table->entries = entries;
    table->is_indirect = true;
    if (table->words == NULL) {
        return break_queue(queue, "an indirect table that is not aligned, or outside of the memory "
                                  "that the device may access");
    }
    return true;
}

/* Reads a chain whose first descriptor in the queue is `head`. At most `size` descriptors are read,
 * besides an indirect one, so a circle ends. */
static bool read_chain(struct device_queue *queue, uint16_t head, struct device_chain *chain)
{
    struct table table = {.words = (const uint32_t *)queue->descriptors, .entries = queue->size};
    uint32_t number = head;

    for (unsigned read = 0; read < queue->size;) {
        struct reading descriptor;

        chain->descriptors++;
        if (number >= table.entries) {
            return break_queue(queue, "the number of a descriptor beyond its table");
        }
        descriptor = read_descriptor(&table, number);
        if ((descriptor.flags & DESCRIPTOR_INDIRECT) != 0) {
            if (!enter_table(queue, &descriptor, &table)) {
                return false;
            }
            number = 0;
            continue;
        }
        if (!add_segment(queue, chain, &descriptor)) {
            return false;
        }
        if ((descriptor.flags & DESCRIPTOR_NEXT) == 0) {
            return true;
        }
        number = descriptor.next;
        read++;
    }
    return break_queue(queue, "a chain longer than the queue");
}

bool device_queue_take(struct device_queue *queue, struct device_chain *chain)
{
    uint16_t place = queue->taken & (uint16_t)(queue->size - 1u);
    uint16_t head;

    if (queue->broken != NULL ||
        (queue->available_seen == queue->taken && !read_available_index(queue))) {
        return false;
    }
    head = virtio_shared_load16(&queue->available->ring[place]);
    chain->readable_bytes = 0;
    chain->writable_bytes = 0;
    chain->readable = 0;
    chain->writable = 0;
    chain->descriptors = 0;
    if (!read_chain(queue, head, chain)) {
        return false;
    }
    queue->ids[place] = head;
    queue->taken++;
    return true;
}

void device_queue_return(struct device_queue *queue)
{
    queue->taken--;
}

void device_queue_finish(struct device_queue *queue, uint32_t written)
{
    uint16_t place = queue->finished & (uint16_t)(queue->size - 1u);
    struct virtqueue_used_element *element = &queue->used->ring[place];

    if (queue->broken == NULL) {
        virtio_shared_store32(&element->id, queue->ids[place]);
        virtio_shared_store32(&element->bytes, written);
        queue->finished++;
    }
}

bool device_queue_wants_interrupt(const struct device_queue *queue, uint16_t since)
{
    if (queue->broken != NULL || queue->published == since) {
        return false;
    }
    if (!queue->event_index) {
        return (virtio_shared_load16(&queue->available->flags) & AVAILABLE_NO_INTERRUPT) == 0;
    }
    return (uint16_t)(queue->published - virtio_shared_load16(used_event(queue)) - 1u) <
           (uint16_t)(queue->published - since);
}

bool device_queue_publish(struct device_queue *queue)
{
    uint16_t before = queue->published;

    if (queue->broken != NULL || queue->finished == before) {
        return false;
    }
    /* 2.7.8.2: the elements are visible before the index. */
    virtio_barrier(VIRTIO_BARRIER_PUBLISH, false);
    virtio_shared_store16(&queue->used->index, queue->finished);
    queue->published = queue->finished;
    /* 2.7.7.2: the index is visible before used_event, or the flag, is read. The driver writes
     * those first and then reads the index, so one of the two sees the other's word. */
    virtio_barrier(VIRTIO_BARRIER_FULL, false);
    return device_queue_wants_interrupt(queue, before);
}

/* With EVENT_IDX, a place that the available index has passed suppresses notifications: it passes
 * it again after 65,536 chains. */
void device_queue_suppress(struct device_queue *queue)
{
    if (queue->broken != NULL) {
        return;
    }
    if (queue->event_index) {
        virtio_shared_store16(available_event(queue), (uint16_t)(queue->taken - 1u));
    } else {
        virtio_shared_store16(&queue->used->flags, USED_NO_NOTIFY);
    }
}

uint16_t device_queue_available(const struct device_queue *queue)
{
    return queue->broken == NULL ? virtio_shared_load16(&queue->available->index) : 0;
}

bool device_queue_enable(struct device_queue *queue)
{
    return device_queue_enable_beyond(queue, queue->taken);
}

bool device_queue_enable_beyond(struct device_queue *queue, uint16_t seen)
{
    if (queue->broken != NULL) {
        return true;
    }
    if (queue->event_index) {
        virtio_shared_store16(available_event(queue), seen);
    } else {
        virtio_shared_store16(&queue->used->flags, 0);
    }
    /* 2.7.10: avail_event, or the flag, is visible before the available index is read once more. */
    virtio_barrier(VIRTIO_BARRIER_FULL, false);
    return virtio_shared_load16(&queue->available->index) == seen;
}
