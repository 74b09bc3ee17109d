/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Virtqueues of both formats (VIRTIO 1.3, 2.6): adding and taking chains.
 *
 * slots[] is the driver's own memory and the only truth about its chains: the ring's descriptors
 * are written, and of what the device writes nothing is believed. A slot's token is set exactly
 * while the chain of that id is with the device, so an id the device returns can be checked with
 * one look.
 *
 * Direct or indirect: an indirect chain costs an extra descriptor to write here and an extra table
 * to fetch for the device, and saves ring entries. So chains are direct while the ring is at most
 * half full, and indirect after that, when entries are what is scarce. Chains of one segment are
 * always direct; so is everything while no table is free.
 */
#include "packed.h"
#include "split.h"

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

/* 2.7.5.3 and 2.8.7: fills a table; `whole` is what the ring's descriptor says about it. */
static uint16_t fill_table(struct virtqueue *queue, const struct virtqueue_segment *segments,
                           unsigned readable, unsigned count, struct virtqueue_segment *whole)
{
    uint16_t table = queue->free_tables[--queue->free_table_count];
    size_t first = (size_t)table * queue->indirect_entries;

    whole->address = queue->tables_address + first * sizeof(struct virtqueue_descriptor);
    whole->bytes = (uint32_t)(count * sizeof(struct virtqueue_descriptor));
    for (unsigned i = 0; i < count; i++) {
        struct virtqueue_descriptor *descriptor = &queue->tables[first + i];
        unsigned flags = chain_flags(i, readable, count);

        virtio_shared_store64(&descriptor->address, segments[i].address);
        /* 2.8.19: of the flags a packed queue's tables have WRITE only. */
        virtio_shared_store64(&descriptor->rest,
                              queue->packed
                                  ? packed_rest(segments[i].bytes, 0, flags & DESCRIPTOR_WRITE)
                                  : split_rest(segments[i].bytes, flags, (uint16_t)(i + 1)));
    }
    return table;
}

/* A chain of one descriptor: the usual one, with no loop and nothing to choose. */
static inline void add_one(struct virtqueue *queue, const struct virtqueue_segment *segment,
                           unsigned flags, void *token, uint32_t writable_bytes, unsigned shape)
{
    uint16_t id = queue->free_first;
    struct virtqueue_slot *slot = &queue->slots[id];

    slot->token = token;
    slot->writable_bytes = writable_bytes;
    slot->shape = (uint16_t)shape;
    queue->free_first = slot->next;
    if (queue->packed) {
        packed_write(queue, id, segment, flags);
    } else {
        split_begin(queue, id, segment, flags, 0);
    }
    queue->free_count--;
    queue->added++;
}

static void add_direct(struct virtqueue *queue, const struct virtqueue_segment *segments,
                       unsigned readable, unsigned count, void *token, uint32_t writable_bytes)
{
    uint16_t id = queue->free_first;
    uint16_t at = id;

    queue->slots[id].token = token;
    queue->slots[id].writable_bytes = writable_bytes;
    queue->slots[id].shape = (uint16_t)(count - 1);
    if (queue->packed) {
        for (unsigned i = 0; i < count; i++) {
            packed_write(queue, id, &segments[i], chain_flags(i, readable, count));
        }
        at = queue->slots[id].next;
    } else {
        for (unsigned i = 0; i < count; i++) {
            unsigned flags = chain_flags(i, readable, count);
            uint16_t next = queue->slots[at].next;

            if (i == 0) {
                split_begin(queue, at, segments, flags, next);
            } else {
                split_write(queue, at, &segments[i], flags, next);
            }
            at = next;
        }
    }
    queue->free_first = at;
    queue->free_count = (uint16_t)(queue->free_count - count);
    queue->added++;
}

/* Not inline, so that the usual chain does not pay for what this one needs. */
static __attribute__((noinline)) bool add_chain(struct virtqueue *queue,
                                                const struct virtqueue_segment *segments,
                                                unsigned readable, unsigned count, void *token)
{
    uint32_t writable_bytes;

    if (!virtqueue_has_room(queue, count) ||
        !chain_valid(queue, segments, readable, count, &writable_bytes)) {
        return false;
    }
    if (goes_indirect(queue, count)) {
        struct virtqueue_segment whole;
        uint16_t table = fill_table(queue, segments, readable, count, &whole);

        add_one(queue, &whole, DESCRIPTOR_INDIRECT, token, writable_bytes, SHAPE_INDIRECT | table);
    } else {
        add_direct(queue, segments, readable, count, token, writable_bytes);
    }
    return true;
}

bool virtqueue_add(struct virtqueue *queue, const struct virtqueue_segment *segments,
                   unsigned readable, unsigned writable, void *token)
{
    if (token == NULL || queue->broken != NULL) {
        return false;
    }
    if (readable + writable != 1) {
        return add_chain(queue, segments, readable, readable + writable, token);
    }
    if (queue->free_count == 0 || segments->bytes == 0) {
        return false;
    }
    add_one(queue, segments, writable * DESCRIPTOR_WRITE, token, writable * segments->bytes, 0);
    return true;
}

bool virtqueue_publish(struct virtqueue *queue)
{
    if (queue->added == queue->published || queue->broken != NULL) {
        return false;
    }
    return queue->packed ? packed_publish(queue) : split_publish(queue);
}

/* Of the chain that is with the device for the longest; IN_ORDER only. Split: its descriptors are
 * neighbours (2.7.5). Packed: ids are given out in turn. */
static inline uint16_t id_after(const struct virtqueue *queue, uint16_t id)
{
    unsigned step = queue->packed ? 1u : slot_descriptors(&queue->slots[id]);

    return (uint16_t)((id + step) & queue->mask);
}

/* Not inline, as add_chain(). */
static __attribute__((noinline)) unsigned release_chain(struct virtqueue *queue, uint16_t id)
{
    struct virtqueue_slot *last = &queue->slots[id];
    unsigned descriptors = slot_descriptors(last);

    if ((last->shape & SHAPE_INDIRECT) != 0) {
        queue->free_tables[queue->free_table_count++] = last->shape & (SHAPE_INDIRECT - 1u);
    }
    if (!queue->in_order) {
        /* Split: the chain's descriptors are linked. Packed: it has one id, whatever its length. */
        for (unsigned i = 1; i < descriptors && !queue->packed; i++) {
            last = &queue->slots[last->next];
        }
        last->next = queue->free_first;
        queue->free_first = id;
    }
    return descriptors;
}

/* The chain's token; its memory is free again. */
static inline void *release(struct virtqueue *queue, uint16_t id)
{
    struct virtqueue_slot *slot = &queue->slots[id];
    void *token = slot->token;
    unsigned descriptors = 1;

    slot->token = NULL;
    if (slot->shape != 0) {
        descriptors = release_chain(queue, id);
    } else if (!queue->in_order) {
        slot->next = queue->free_first;
        queue->free_first = id;
    }
    queue->free_count = (uint16_t)(queue->free_count + descriptors);
    queue->ring_taken = (uint16_t)(queue->ring_taken + descriptors);
    queue->taken++;
    return token;
}

/*
 * IN_ORDER: the device may write one used entry for many chains, with the id of the last of them
 * (2.7.9, 2.8.8). Finds out how many: all from the oldest up to that id, and no more than it can
 * have finished.
 */
static __attribute__((noinline)) bool open_batch(struct virtqueue *queue, uint16_t last,
                                                 uint32_t bytes)
{
    uint16_t finished =
        (uint16_t)((queue->packed ? queue->published : queue->used_seen) - queue->taken);
    uint16_t count = 1;

    for (uint16_t id = queue->oldest; id != last; id = id_after(queue, id)) {
        if (count++ == finished) {
            virtqueue_break(queue, "used id is no chain that can be finished in order");
            return false;
        }
    }
    queue->batch = count;
    queue->batch_bytes = bytes;
    return true;
}

/* Of the batch, the oldest chain. All but the last are used completely (2.7.9, 2.8.8). */
static void *take_in_order(struct virtqueue *queue, uint32_t *bytes)
{
    uint16_t id = queue->oldest;

    queue->batch--;
    *bytes = queue->batch == 0 ? queue->batch_bytes : queue->slots[id].writable_bytes;
    queue->oldest = id_after(queue, id);
    return release(queue, id);
}

void *virtqueue_take(struct virtqueue *queue, uint32_t *bytes)
{
    const struct virtqueue_slot *slot;
    uint32_t written;
    uint32_t id;

    if (queue->broken != NULL) {
        return NULL;
    }
    if (queue->batch != 0) {
        return take_in_order(queue, bytes);
    }
    if (!(queue->packed ? packed_used(queue, &id, &written) : split_used(queue, &id, &written))) {
        return NULL;
    }
    if (id >= queue->size) {
        virtqueue_break(queue, "used id beyond the queue's size");
        return NULL;
    }
    slot = &queue->slots[id];
    if (slot->token == NULL) {
        virtqueue_break(queue, "used id is no chain the device has");
        return NULL;
    }
    /* 2.8.4: without anything to write the length means nothing. That the WRITE flag says whether
     * something was written, is not to be relied on: QEMU never sets it. */
    if (queue->packed && slot->writable_bytes == 0) {
        written = 0;
    }
    if (written > slot->writable_bytes) {
        virtqueue_break(queue, "used length beyond the chain's writable bytes");
        return NULL;
    }
    if (queue->in_order) {
        if (id != queue->oldest) {
            return open_batch(queue, (uint16_t)id, written) ? take_in_order(queue, bytes) : NULL;
        }
        queue->oldest = id_after(queue, queue->oldest);
    }
    *bytes = written;
    return release(queue, (uint16_t)id);
}

bool virtqueue_pending(struct virtqueue *queue)
{
    if (queue->broken != NULL) {
        return false;
    }
    if (queue->packed) {
        uint16_t place = queue->ring_taken;

        return queue->batch != 0 ||
               packed_is_used(queue, place,
                              virtio_shared_load64(&queue->descriptors[place & queue->mask].rest));
    }
    return queue->used_seen != queue->taken || split_look(queue) || queue->broken != NULL;
}

void virtqueue_suppress(struct virtqueue *queue)
{
    if (!queue->interrupts_on) {
        return;
    }
    if (queue->packed) {
        packed_suppress(queue);
    } else {
        split_suppress(queue);
    }
    queue->interrupts_on = false;
}

bool virtqueue_enable(struct virtqueue *queue, uint16_t delay)
{
    queue->interrupts_on = true;
    if (queue->packed ? packed_enable(queue, delay) : split_enable(queue, delay)) {
        return true;
    }
    /* The device may have passed the event before it was set: nothing is armed. */
    virtqueue_suppress(queue);
    return false;
}

bool virtqueue_armed(const struct virtqueue *queue)
{
    return queue->interrupts_on && (queue->packed ? packed_armed(queue) : split_armed(queue));
}

void *virtqueue_detach(struct virtqueue *queue, uint16_t *position)
{
    while (*position < queue->size) {
        uint16_t id = (*position)++;

        if (queue->slots[id].token != NULL) {
            return release(queue, id);
        }
    }
    return NULL;
}
