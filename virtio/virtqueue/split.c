/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Split virtqueues (VIRTIO 1.3, 2.7): adding, publishing and taking chains.
 *
 * slots[] is the driver's own memory and the only truth about its chains: the ring's descriptors
 * are written, never read back. A slot's token is set exactly while a chain that begins there is
 * with the device, so an id the device returns can be checked with one look.
 *
 * Direct or indirect: an indirect chain costs an extra descriptor to write here and an extra table
 * to fetch for the device, and saves ring entries. So chains are direct while the ring is at most
 * half full, and indirect after that, when entries are what is scarce. Chains of one segment are
 * always direct; so is everything while no table is free.
 */
#include "split_layout.h"
#include "virtio/barrier.h"
#include "virtio/virtqueue.h"

#define VIRTQUEUE_INDIRECT 0xffffu /* slot.descriptors: one in the ring, the chain in a table */

static void break_queue(struct virtqueue *queue, const char *reason)
{
    if (queue->broken == NULL) {
        queue->broken = reason;
    }
}

static inline void write_descriptor(struct virtqueue_descriptor *descriptor,
                                    const struct virtqueue_segment *segment, unsigned flags,
                                    uint16_t next)
{
    descriptor->address = virtio_le64(segment->address);
    descriptor->bytes = virtio_le32(segment->bytes);
    descriptor->flags = virtio_le16((uint16_t)flags);
    descriptor->next = virtio_le16(next);
}

/* What 2.7.4.2 and 2.7.5 demand of a chain; *writable_bytes is what the device may write. */
static bool chain_valid(const struct virtqueue *queue, const struct virtqueue_segment *segments,
                        unsigned readable, unsigned count, uint32_t *writable_bytes)
{
    uint64_t sum[2] = {0, 0};

    if (count == 0 || count > queue->size) {
        return false;
    }
    for (unsigned i = 0; i < count; i++) {
        if (segments[i].bytes == 0) {
            return false;
        }
        sum[i >= readable] += segments[i].bytes;
    }
    *writable_bytes = (uint32_t)sum[1];
    return sum[0] + sum[1] <= UINT32_MAX;
}

static inline bool goes_indirect(const struct virtqueue *queue, unsigned count)
{
    return count > 1 && queue->free_table_count != 0 && count <= queue->indirect_entries &&
           queue->free_count <= queue->size / 2u;
}

bool virtqueue_has_room(const struct virtqueue *queue, unsigned segments)
{
    return queue->free_count >= segments ||
           (queue->free_count != 0 && goes_indirect(queue, segments));
}

/* Of segment `i` of a chain: readable ones come first (2.7.4.2), the last has no next. */
static inline unsigned chain_flags(unsigned i, unsigned readable, unsigned count)
{
    return (i >= readable ? DESCRIPTOR_WRITE : 0) | (i + 1 < count ? DESCRIPTOR_NEXT : 0);
}

/* Writes the chain into the ring's own descriptors. The free list is already linked as the chain
 * will be. */
static void add_direct(struct virtqueue *queue, const struct virtqueue_segment *segments,
                       unsigned readable, unsigned count)
{
    uint16_t id = queue->free_first;

    queue->slots[id].descriptors = (uint16_t)count;
    for (unsigned i = 0; i < count; i++) {
        uint16_t next = queue->slots[id].next;
        unsigned flags = chain_flags(i, readable, count);

        write_descriptor(&queue->descriptors[id], &segments[i], flags, next);
        id = next;
    }
    queue->free_first = id;
    queue->free_count = (uint16_t)(queue->free_count - count);
}

/* 2.7.5.3 */
static void add_indirect(struct virtqueue *queue, const struct virtqueue_segment *segments,
                         unsigned readable, unsigned count)
{
    uint16_t table = queue->free_tables[--queue->free_table_count];
    size_t first = (size_t)table * queue->indirect_entries;
    uint16_t id = queue->free_first;
    struct virtqueue_segment whole = {
        .address = queue->tables_address + first * sizeof(struct virtqueue_descriptor),
        .bytes = (uint32_t)(count * sizeof(struct virtqueue_descriptor)),
    };

    for (unsigned i = 0; i < count; i++) {
        unsigned flags = chain_flags(i, readable, count);

        write_descriptor(&queue->tables[first + i], &segments[i], flags, (uint16_t)(i + 1));
    }
    write_descriptor(&queue->descriptors[id], &whole, DESCRIPTOR_INDIRECT, 0);
    queue->free_first = queue->slots[id].next;
    queue->free_count--;
    queue->slots[id].descriptors = VIRTQUEUE_INDIRECT;
    queue->slots[id].next = table;
}

bool virtqueue_add(struct virtqueue *queue, const struct virtqueue_segment *segments,
                   unsigned readable, unsigned writable, void *token)
{
    unsigned count = readable + writable;
    uint16_t head = queue->free_first;
    uint32_t writable_bytes;

    if (token == NULL || queue->broken != NULL || !virtqueue_has_room(queue, count) ||
        !chain_valid(queue, segments, readable, count, &writable_bytes)) {
        return false;
    }
    if (goes_indirect(queue, count)) {
        add_indirect(queue, segments, readable, count);
    } else {
        add_direct(queue, segments, readable, count);
    }
    queue->slots[head].token = token;
    queue->slots[head].writable_bytes = writable_bytes;
    /* 2.7.13.1: the entry is the device's only once the index passes it, in virtqueue_publish(). */
    virtio_shared_store16(&queue->available->ring[queue->added & queue->mask], head);
    queue->added++;
    return true;
}

bool virtqueue_publish(struct virtqueue *queue)
{
    uint16_t before = queue->kick_checked;

    if (queue->broken != NULL || queue->added == before) {
        return false;
    }
    /* 2.7.13.2.1: descriptors and ring entries before the index. */
    virtio_barrier_publish();
    virtio_shared_store16(&queue->available->index, queue->added);
    queue->published = queue->added;
    queue->kick_checked = queue->added;
    /* 2.7.13.4.1: the index before the device's wish is read. The device writes its wish and then
     * reads the index, so one of the two sees the other. */
    virtio_barrier_full();
    if (!queue->event_index) {
        return (virtio_shared_load16(&queue->used->flags) & USED_NO_NOTIFY) == 0;
    }
    /* 2.7.10: notify if the entry avail_event names is among the new ones. Right across the index's
     * wrap, and for any number of new entries. */
    return (uint16_t)(queue->added - virtio_shared_load16(queue->available_event) - 1u) <
           (uint16_t)(queue->added - before);
}

/* Reads the used index and checks it against what the device can have finished. */
static bool look(struct virtqueue *queue)
{
    uint16_t index = virtio_shared_load16(&queue->used->index);

    if ((uint16_t)(index - queue->taken) > (uint16_t)(queue->published - queue->taken)) {
        break_queue(queue, "used index ahead of what was made available");
        return false;
    }
    /* 2.7.14: the elements after the index that announces them. */
    virtio_barrier_observe();
    queue->used_seen = index;
    return index != queue->taken;
}

bool virtqueue_pending(struct virtqueue *queue)
{
    if (queue->broken != NULL) {
        return false;
    }
    return queue->used_seen != queue->taken || look(queue) || queue->broken != NULL;
}

static void release_chain(struct virtqueue *queue, uint16_t head)
{
    struct virtqueue_slot *slot = &queue->slots[head];
    struct virtqueue_slot *last = slot;
    uint16_t descriptors = slot->descriptors;

    slot->token = NULL;
    if (descriptors == VIRTQUEUE_INDIRECT) {
        queue->free_tables[queue->free_table_count++] = slot->next;
        descriptors = 1;
    }
    for (uint16_t i = 1; i < descriptors; i++) {
        last = &queue->slots[last->next];
    }
    last->next = queue->free_first;
    queue->free_first = head;
    queue->free_count = (uint16_t)(queue->free_count + descriptors);
}

void *virtqueue_take(struct virtqueue *queue, uint32_t *bytes)
{
    const struct virtqueue_used_element *element;
    uint32_t id;
    uint32_t written;
    void *token;

    if (queue->broken != NULL) {
        return NULL;
    }
    if (queue->used_seen == queue->taken && !look(queue)) {
        return NULL;
    }
    element = &queue->used->ring[queue->taken & queue->mask];
    id = virtio_shared_load32(&element->id);
    written = virtio_shared_load32(&element->bytes);
    if (id >= queue->size) {
        break_queue(queue, "used id beyond the queue's size");
        return NULL;
    }
    token = queue->slots[id].token;
    if (token == NULL) {
        break_queue(queue, "used id is no chain the device has");
        return NULL;
    }
    if (written > queue->slots[id].writable_bytes) {
        break_queue(queue, "used length beyond the chain's writable bytes");
        return NULL;
    }
    release_chain(queue, (uint16_t)id);
    queue->taken++;
    *bytes = written;
    return token;
}

void *virtqueue_detach(struct virtqueue *queue, uint16_t *position)
{
    while (*position < queue->size) {
        uint16_t id = (*position)++;
        void *token = queue->slots[id].token;

        if (token != NULL) {
            release_chain(queue, id);
            queue->taken++;
            return token;
        }
    }
    return NULL;
}
