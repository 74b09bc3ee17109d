/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Taking chains that the device is done with, many at a time. What is the same for all of them is
 * kept in local variables for the whole batch. What it wrote is read once, into the caller's items
 * (where `address` is the id meanwhile), and nothing of it is believed: the slots know which chains
 * it has.
 */
#include "packed.h"

/* Of the chain that is with the device for the longest; IN_ORDER only. Split: its descriptors are
 * neighbours (2.7.5). Packed: ids are given out in turn. */
static inline uint16_t id_after(const struct virtqueue *queue, uint16_t id)
{
    unsigned step = queue->packed ? 1u : slot_descriptors(&queue->slots[id]);

    return (uint16_t)((id + step) & queue->mask);
}

static inline unsigned count_taken(struct virtqueue *queue, unsigned chains, unsigned descriptors)
{
    queue->free_count = (uint16_t)(queue->free_count + descriptors);
    queue->ring_taken = (uint16_t)(queue->ring_taken + descriptors);
    queue->taken = (uint16_t)(queue->taken + chains);
    return chains;
}

/* The chain's token; its memory is free again. */
static void *release(struct virtqueue *queue, uint16_t id)
{
    struct virtqueue_slot *slot = &queue->slots[id];
    struct virtqueue_slot *last = slot;
    unsigned descriptors = slot_descriptors(slot);
    void *token = slot->token;

    slot->token = NULL;
    if ((slot->shape & SHAPE_INDIRECT) != 0) {
        queue->free_tables[queue->free_table_count++] = slot->shape & (SHAPE_INDIRECT - 1u);
    }
    if (!queue->in_order) {
        /* Split: the chain's descriptors are linked. Packed: it has one id, whatever its length. */
        for (unsigned i = 1; i < descriptors && !queue->packed; i++) {
            last = &queue->slots[last->next];
        }
        last->next = queue->free_first;
        queue->free_first = id;
    }
    (void)count_taken(queue, 1, descriptors);
    return token;
}

/*
 * IN_ORDER: the device may write one used entry for many chains, with the id of the last of them
 * (2.7.9, 2.8.8). Finds out how many: all from the oldest up to that id, and no more than it can
 * have finished.
 */
static void open_batch(struct virtqueue *queue, uint16_t last, uint32_t bytes)
{
    uint16_t finished =
        (uint16_t)((queue->packed ? queue->published : queue->used_seen) - queue->taken);
    uint16_t count = 1;

    for (uint16_t id = queue->oldest; id != last; id = id_after(queue, id)) {
        if (count++ == finished) {
            (void)virtqueue_break(queue, "used id is no chain that can be finished in order");
            return;
        }
    }
    queue->batch = count;
    queue->slots[last].writable_bytes = bytes; /* all others are used completely */
}

/* As reading what the device wrote, for chains that are known to be finished. */
static unsigned name_known(const struct virtqueue *queue, struct virtqueue_item *items,
                           unsigned limit)
{
    uint16_t id = queue->oldest;
    unsigned count = limit < queue->batch ? limit : queue->batch;

    for (unsigned i = 0; i < count; i++) {
        items[i].address = id;
        items[i].bytes = queue->slots[id].writable_bytes;
        id = id_after(queue, id);
    }
    return count;
}

/* Takes those that are as usual, up to the first that is not: right, of one descriptor, and the
 * oldest if there is an order. Returns how many. */
static unsigned take_usual(struct virtqueue *queue, struct virtqueue_item *items, unsigned count)
{
    struct virtqueue_slot *slots = queue->slots;
    bool in_order = queue->in_order;
    unsigned size = queue->size;
    uint16_t oldest = queue->oldest;
    uint16_t free_first = queue->free_first;
    unsigned i;

    for (i = 0; i < count; i++) {
        uint32_t id = (uint32_t)items[i].address;
        struct virtqueue_slot *slot;

        if (id >= size || (in_order && id != oldest)) {
            break;
        }
        slot = &slots[id];
        if (slot->token == NULL || slot->shape != 0) {
            break;
        }
        if (items[i].bytes > slot->writable_bytes) {
            if (slot->writable_bytes != 0) {
                break;
            }
            items[i].bytes = 0; /* a chain without writable segments: see take_unusual() */
        }
        items[i].token = slot->token;
        slot->token = NULL;
        if (in_order) {
            oldest = (uint16_t)((oldest + 1u) & (size - 1u));
        } else {
            slot->next = free_first;
            free_first = (uint16_t)id;
        }
    }
    queue->oldest = oldest;
    queue->free_first = free_first;
    return count_taken(queue, i, i);
}

/* Any chain; or learns that it ends a batch; or what is wrong. Returns how many it took. */
static __attribute__((noinline)) unsigned take_unusual(struct virtqueue *queue,
                                                       struct virtqueue_item *item)
{
    uint32_t id = (uint32_t)item->address;
    const struct virtqueue_slot *slot;

    if (id >= queue->size) {
        return virtqueue_break(queue, "used id beyond the queue's size");
    }
    slot = &queue->slots[id];
    if (slot->token == NULL) {
        return virtqueue_break(queue, "used id is no chain the device has");
    }
    /*
     * `len` counts bytes written into the chain's writable segments (2.7.8). A chain without such
     * segments therefore has length 0, whatever the device reports: kvmtool and bhyve report the
     * bytes that they read, as devices did before the standard (2.7.8.1, 5.1.6.1), and in packed
     * rings the field is reserved (2.8.4). There the WRITE flag should say whether the device wrote
     * anything, but QEMU never sets it, so the flag is not evaluated.
     */
    if (item->bytes > slot->writable_bytes) {
        if (slot->writable_bytes != 0 && !queue->length_clamped) {
            return virtqueue_break(queue, "used length beyond the chain's writable bytes");
        }
        item->bytes = slot->writable_bytes;
    }
    if (queue->in_order) {
        if (id != queue->oldest) {
            open_batch(queue, (uint16_t)id, item->bytes);
            return 0;
        }
        queue->oldest = id_after(queue, queue->oldest);
    }
    item->token = release(queue, (uint16_t)id);
    return 1;
}

/* True: there may be more. */
static bool take_some(struct virtqueue *queue, struct virtqueue_item *items, unsigned limit,
                      unsigned *taken)
{
    unsigned found;
    unsigned count;
    bool known;

    /* By the index alone: whatever the device writes to the elements, and if it writes them at all
     * (2.7.9), the chains before its index are finished, and there is nothing else to know about
     * chains that it only reads. */
    if (queue->by_index && queue->batch < limit) {
        (void)split_look(queue);
        queue->batch = (uint16_t)(queue->used_seen - queue->taken);
    }
    known = queue->by_index || queue->batch != 0;
    if (known) {
        found = name_known(queue, items, limit);
    } else {
        found = queue->packed ? packed_used(queue, items, limit) : split_used(queue, items, limit);
    }
    *taken = count = take_usual(queue, items, found);
    if (count < found) {
        *taken += take_unusual(queue, &items[count]);
    }
    if (known) {
        queue->batch = (uint16_t)(queue->batch - *taken);
    }
    return count < found || (known && !queue->by_index);
}

unsigned virtqueue_take_batch(struct virtqueue *queue, struct virtqueue_item *items, unsigned limit)
{
    unsigned taken = 0;
    bool more = true;

    while (more && taken < limit && queue->broken == NULL) {
        unsigned count;

        more = take_some(queue, items + taken, limit - taken, &count);
        taken += count;
    }
    /* An event left behind would come true again in the index's next lap (2.7.7). */
    if (queue->event_index && !queue->packed && !queue->interrupts_on &&
        (uint16_t)(queue->taken - queue->interrupt_after) > UINT16_MAX / 4) {
        split_suppress(queue);
    }
    return taken;
}

void *virtqueue_take(struct virtqueue *queue, uint32_t *bytes)
{
    struct virtqueue_item item;

    if (virtqueue_take_batch(queue, &item, 1) == 0) {
        return NULL;
    }
    *bytes = item.bytes;
    return item.token;
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
