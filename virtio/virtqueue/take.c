/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Takes chains that the device has finished, many at a time. Values that are the same for all
 * chains of a batch stay in local variables. Each word that the device wrote is read once, into the
 * caller's items, where `address` holds the chain's id until the item is complete. Ids and lengths
 * are checked against slots[], the driver's own record of the chains that are with the device.
 */
#include "packed.h"

/* Returns the id of the chain that was made available after the chain `id`; IN_ORDER only. Split:
 * a chain's descriptors are neighbours (2.7.5). Packed: ids are given out in turn. */
static inline uint16_t next_id_in_order(const struct virtqueue *queue, uint16_t id)
{
    unsigned step = queue->packed ? 1u : slot_descriptors(&queue->slots[id]);

    return (uint16_t)((id + step) & queue->mask);
}

static inline void count_taken(struct virtqueue *queue, unsigned chains, unsigned descriptors)
{
    queue->free_count = (uint16_t)(queue->free_count + descriptors);
    queue->ring_taken = (uint16_t)(queue->ring_taken + descriptors);
    queue->taken = (uint16_t)(queue->taken + chains);
}

/* Puts a chain's descriptors back into the list of free ones. With IN_ORDER the list never changes.
 */
static void free_descriptors(struct virtqueue *queue, uint16_t id, unsigned descriptors)
{
    struct virtqueue_slot *last = &queue->slots[id];

    if (queue->in_order) {
        return;
    }
    /* Split: the chain's descriptors are linked. Packed: a chain has one id, whatever its length.
     */
    if (!queue->packed) {
        for (unsigned i = 1; i < descriptors; i++) {
            last = &queue->slots[last->next];
        }
    }
    last->next = queue->free_first;
    queue->free_first = id;
}

/* Returns a chain's token, after freeing its slot, its descriptors and its indirect table. */
static void *release_chain(struct virtqueue *queue, uint16_t id)
{
    struct virtqueue_slot *slot = &queue->slots[id];
    unsigned descriptors = slot_descriptors(slot);
    void *token = slot->token;

    slot->token = NULL;
    if ((slot->shape & SHAPE_INDIRECT) != 0) {
        queue->free_tables[queue->free_table_count] = slot->shape & (SHAPE_INDIRECT - 1u);
        queue->free_table_count++;
    }
    free_descriptors(queue, id, descriptors);
    count_taken(queue, 1, descriptors);
    return token;
}

/*
 * IN_ORDER: the device may write one used entry for several chains, with the id of the last of them
 * (2.7.9, 2.8.8). Sets queue->batch to their number: all chains from the oldest one up to `last`.
 * Breaks the queue if `last` is none of the chains that the device can have finished.
 */
static void start_batch(struct virtqueue *queue, uint16_t last, uint32_t bytes)
{
    uint16_t finished =
        (uint16_t)((queue->packed ? queue->published : queue->used_seen) - queue->taken);
    uint16_t count = 1;

    for (uint16_t id = queue->oldest; id != last; id = next_id_in_order(queue, id)) {
        if (count == finished) {
            (void)virtqueue_break(queue, "used id is no chain that can be finished in order");
            return;
        }
        count++;
    }
    queue->batch = count;
    /* The length is that of the last chain; the device has written the others completely. */
    queue->slots[last].writable_bytes = bytes;
}

/* Lists up to `limit` chains of the current batch as if used entries for them had been read.
 * Returns their number. */
static unsigned list_batch(const struct virtqueue *queue, struct virtqueue_item *items,
                           unsigned limit)
{
    uint16_t id = queue->oldest;
    unsigned count = limit < queue->batch ? limit : queue->batch;

    for (unsigned i = 0; i < count; i++) {
        items[i].address = id;
        items[i].bytes = queue->slots[id].writable_bytes;
        id = next_id_in_order(queue, id);
    }
    return count;
}

/*
 * The fast path. Takes chains up to the first that needs take_other_chain(): an id that is not the
 * oldest chain's where there is an order, an id or a length that is wrong, or a chain of several
 * descriptors. Returns the number of chains taken.
 */
static unsigned take_plain_chains(struct virtqueue *queue, struct virtqueue_item *items,
                                  unsigned count)
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
            items[i].bytes = 0; /* a chain without writable segments: see take_other_chain() */
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
    count_taken(queue, i, i);
    return i;
}

/* Handles a used entry that the fast path does not: takes the chain, or starts the IN_ORDER batch
 * that the entry ends, or breaks the queue. Returns the number of chains taken, 0 or 1. */
static __attribute__((noinline)) unsigned take_other_chain(struct virtqueue *queue,
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
            start_batch(queue, (uint16_t)id, item->bytes);
            return 0;
        }
        queue->oldest = next_id_in_order(queue, queue->oldest);
    }
    item->token = release_chain(queue, (uint16_t)id);
    return 1;
}

/*
 * IN_ORDER lets the device skip used elements (2.7.9), so by_index reads only the used index: every
 * chain before it is finished. That is enough for chains without writable segments, which have no
 * length.
 */
static void read_batch_by_index(struct virtqueue *queue)
{
    (void)split_read_used_index(queue);
    queue->batch = (uint16_t)(queue->used_seen - queue->taken);
}

/* Takes chains of one kind: of the current batch, or by used entries. *taken is their number.
 * Returns true if there may be more chains to take. */
static bool take_round(struct virtqueue *queue, struct virtqueue_item *items, unsigned limit,
                       unsigned *taken)
{
    bool from_batch;
    unsigned found;
    unsigned plain;
    unsigned count;

    if (queue->by_index && queue->batch < limit) {
        read_batch_by_index(queue);
    }
    from_batch = queue->by_index || queue->batch != 0;
    if (from_batch) {
        found = list_batch(queue, items, limit);
    } else if (queue->packed) {
        found = packed_used(queue, items, limit);
    } else {
        found = split_used(queue, items, limit);
    }
    if (found == 0) { /* frequent where frames come one at a time */
        *taken = 0;
        return false;
    }
    plain = take_plain_chains(queue, items, found);
    count = plain;
    if (plain < found) {
        count += take_other_chain(queue, &items[plain]);
    }
    if (from_batch) {
        queue->batch = (uint16_t)(queue->batch - count);
    }
    *taken = count;
    if (plain < found) { /* there may be more behind that chain, or in the batch that it ends */
        return true;
    }
    return from_batch && !queue->by_index; /* used entries behind the batch */
}

unsigned virtqueue_take_batch(struct virtqueue *queue, struct virtqueue_item *items, unsigned limit)
{
    unsigned taken = 0;
    bool more = true;

    while (more && taken < limit && queue->broken == NULL) {
        unsigned count;

        more = take_round(queue, items + taken, limit - taken, &count);
        taken += count;
    }
    /* An old used_event would be passed again in the used index's next lap (2.7.7): set a newer
     * one.
     */
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
        uint16_t id = *position;

        (*position)++;
        if (queue->slots[id].token != NULL) {
            return release_chain(queue, id);
        }
    }
    return NULL;
}
