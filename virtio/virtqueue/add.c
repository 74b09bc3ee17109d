/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Adds chains. Chains of one segment are added many at a time, with values that are the same for
 * all of them in local variables; other chains are added one by one.
 *
 * Direct or indirect: an indirect chain costs the driver an extra descriptor to write and the
 * device a table to fetch, and saves ring entries. So chains are direct while the ring is at most
 * half full, and indirect when entries are scarce. Chains of one segment are always direct, and so
 * are all chains while no table is free.
 */
#include "packed.h"

static inline void record_chain(struct virtqueue_slot *slot, void *token, uint32_t writable_bytes,
                                unsigned shape)
{
    slot->token = token;
    slot->writable_bytes = writable_bytes;
    slot->shape = (uint16_t)shape;
}

/*
 * A word that already has its value is not written, so that its cache line stays shared by both
 * sides. With IN_ORDER each lap of the ring repeats the available entries of the previous lap; if a
 * pool reuses buffers in turn, the descriptors repeat as well. Reading them back is safe: a device
 * that changes such a word harms only itself.
 */
static unsigned split_add(struct virtqueue *queue, const struct virtqueue_item *items,
                          unsigned count, unsigned flags)
{
    struct virtqueue_descriptor *descriptors = queue->descriptors;
    struct virtqueue_slot *slots = queue->slots;
    uint16_t *ring = queue->available->ring;
    unsigned mask = queue->mask;
    unsigned added = queue->added;
    uint16_t id = queue->free_first;
    unsigned i;

    for (i = 0; i < count && items[i].bytes != 0 && items[i].token != NULL; i++) {
        if (virtio_shared_load16(&ring[(added + i) & mask]) != id) {
            virtio_shared_store16(&ring[(added + i) & mask], id);
        }
        descriptor_update(&descriptors[id], items[i].address, split_rest(items[i].bytes, flags, 0));
        record_chain(&slots[id], items[i].token, flags == DESCRIPTOR_WRITE ? items[i].bytes : 0, 0);
        id = slots[id].next;
    }
    queue->free_first = id;
    return i;
}

static unsigned packed_add(struct virtqueue *queue, const struct virtqueue_item *items,
                           unsigned count, unsigned flags)
{
    struct virtqueue_descriptor *descriptors = queue->descriptors;
    struct virtqueue_slot *slots = queue->slots;
    unsigned mask = queue->mask;
    unsigned place = queue->ring_added;
    uint16_t id = queue->free_first;
    bool hold_back = place == queue->ring_published;
    unsigned i;

    for (i = 0; i < count && items[i].bytes != 0 && items[i].token != NULL; i++, place++) {
        uint64_t rest =
            packed_rest(items[i].bytes, id, flags | packed_available(queue, (uint16_t)place));

        descriptor_fill(&descriptors[place & mask], items[i].address, rest);
        if (hold_back) {
            queue->held_back = rest;
            hold_back = false;
        } else {
            descriptor_announce(&descriptors[place & mask], rest);
        }
        record_chain(&slots[id], items[i].token, flags == DESCRIPTOR_WRITE ? items[i].bytes : 0, 0);
        id = slots[id].next;
    }
    queue->free_first = id;
    queue->ring_added = (uint16_t)place;
    return i;
}

/* Adds up to `count` chains of one descriptor, as many as there is room for. Returns their number.
 */
static unsigned add_items(struct virtqueue *queue, const struct virtqueue_item *items,
                          unsigned count, unsigned flags)
{
    count = count < queue->free_count ? count : queue->free_count;
    count = queue->packed ? packed_add(queue, items, count, flags)
                          : split_add(queue, items, count, flags);
    queue->free_count = (uint16_t)(queue->free_count - count);
    queue->added = (uint16_t)(queue->added + count);
    return count;
}

unsigned virtqueue_add_batch(struct virtqueue *queue, const struct virtqueue_item *items,
                             unsigned count, bool writable)
{
    return queue->broken == NULL ? add_items(queue, items, count, writable ? DESCRIPTOR_WRITE : 0)
                                 : 0;
}

/* Checks a chain's length, segments and bytes (2.7.4.2, 2.7.5). *writable_bytes receives the bytes
 * of its writable segments. */
static bool chain_valid(const struct virtqueue *queue, const struct virtqueue_segment *segments,
                        unsigned readable, unsigned count, uint32_t *writable_bytes)
{
    uint64_t all = 0;
    uint64_t writable = 0;

    if (count == 0 || count > queue->size) {
        return false;
    }
    for (unsigned i = 0; i < count; i++) {
        if (segments[i].bytes == 0) {
            return false;
        }
        all += segments[i].bytes;
        if (i >= readable) {
            writable += segments[i].bytes;
        }
    }
    *writable_bytes = (uint32_t)writable;
    return all <= UINT32_MAX;
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

/* Returns the flags of segment `i` of a chain: the readable ones come first (2.7.4.2, 2.8.17), and
 * all but the last have a next one. */
static inline unsigned chain_flags(unsigned i, unsigned readable, unsigned count)
{
    return (i >= readable ? DESCRIPTOR_WRITE : 0) | (i + 1 < count ? DESCRIPTOR_NEXT : 0);
}

/* Adds a chain as an indirect table with one descriptor in the ring (2.7.5.3, 2.8.7). Returns its
 * shape. */
static unsigned add_indirect(struct virtqueue *queue, const struct virtqueue_segment *segments,
                             unsigned readable, unsigned count, void *token)
{
    uint16_t table = queue->free_tables[queue->free_table_count - 1u];
    size_t first = (size_t)table * queue->indirect_entries;
    struct virtqueue_item whole = {
        .token = token,
        .address = queue->tables_address + first * sizeof(struct virtqueue_descriptor),
        .bytes = (uint32_t)(count * sizeof(struct virtqueue_descriptor)),
    };

    queue->free_table_count--;
    for (unsigned i = 0; i < count; i++) {
        unsigned flags = chain_flags(i, readable, count);

        /* 2.8.19: in a packed queue's tables WRITE is the only valid flag. */
        descriptor_write(&queue->tables[first + i], segments[i].address,
                         queue->packed ? packed_rest(segments[i].bytes, 0, flags & DESCRIPTOR_WRITE)
                                       : split_rest(segments[i].bytes, flags, (uint16_t)(i + 1)));
    }
    (void)add_items(queue, &whole, 1, DESCRIPTOR_INDIRECT);
    return SHAPE_INDIRECT | table;
}

/*
 * Writes a chain's next descriptor. The flags of the first descriptor that is not yet published are
 * held back: the device reads no descriptor behind it (2.8.2), so that one store in
 * packed_publish() makes all of them available, with one barrier for all chains (2.8.21.1).
 */
static inline void packed_write(struct virtqueue *queue, uint16_t id,
                                const struct virtqueue_segment *segment, unsigned flags)
{
    uint16_t place = queue->ring_added;
    struct virtqueue_descriptor *descriptor = &queue->descriptors[place & queue->mask];
    uint64_t rest = packed_rest(segment->bytes, id, flags | packed_available(queue, place));

    descriptor_fill(descriptor, segment->address, rest);
    if (place == queue->ring_published) {
        queue->held_back = rest;
    } else {
        descriptor_announce(descriptor, rest);
    }
    queue->ring_added = (uint16_t)(place + 1u);
}

/* Writes a chain's descriptors into the ring, all with the id of the chain. Returns the next free
 * id. */
static uint16_t packed_add_chain(struct virtqueue *queue, const struct virtqueue_segment *segments,
                                 unsigned readable, unsigned count)
{
    uint16_t id = queue->free_first;

    for (unsigned i = 0; i < count; i++) {
        packed_write(queue, id, &segments[i], chain_flags(i, readable, count));
    }
    return queue->slots[id].next;
}

/* Writes a chain's descriptors, linked in the order of the free ones, and its available entry.
 * Returns the next free descriptor. */
static uint16_t split_add_chain(struct virtqueue *queue, const struct virtqueue_segment *segments,
                                unsigned readable, unsigned count)
{
    uint16_t id = queue->free_first;

    for (unsigned i = 0; i < count; i++) {
        uint16_t next = queue->slots[id].next;
        unsigned flags = chain_flags(i, readable, count);

        descriptor_write(&queue->descriptors[id], segments[i].address,
                         split_rest(segments[i].bytes, flags, next));
        id = next;
    }
    virtio_shared_store16(&queue->available->ring[queue->added & queue->mask], queue->free_first);
    return id;
}

/* Adds a chain with a descriptor of the ring for each segment. Returns its shape. */
static unsigned add_direct(struct virtqueue *queue, const struct virtqueue_segment *segments,
                           unsigned readable, unsigned count)
{
    queue->free_first = queue->packed ? packed_add_chain(queue, segments, readable, count)
                                      : split_add_chain(queue, segments, readable, count);
    queue->free_count = (uint16_t)(queue->free_count - count);
    queue->added++;
    return count - 1;
}

bool virtqueue_add(struct virtqueue *queue, const struct virtqueue_segment *segments,
                   unsigned readable, unsigned writable, void *token)
{
    unsigned count = readable + writable;
    uint16_t id = queue->free_first;
    uint32_t writable_bytes;
    unsigned shape;

    if (count == 1) {
        struct virtqueue_item item = {token, segments->address, segments->bytes};

        return virtqueue_add_batch(queue, &item, 1, writable != 0) == 1;
    }
    if (token == NULL || queue->broken != NULL || !virtqueue_has_room(queue, count) ||
        !chain_valid(queue, segments, readable, count, &writable_bytes)) {
        return false;
    }
    shape = goes_indirect(queue, count) ? add_indirect(queue, segments, readable, count, token)
                                        : add_direct(queue, segments, readable, count);
    record_chain(&queue->slots[id], token, writable_bytes, shape);
    return true;
}
