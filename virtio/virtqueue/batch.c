/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Many chains of one segment at a time. What is the same for all of them is kept in local variables
 * for the whole batch, which halves the work for each. Whatever is not usual (chains of several
 * descriptors, batches by the device, anything wrong) is left to virtqueue_take(), which looks for
 * itself: what was read here counts for nothing then.
 */
#include "packed.h"
#include "split.h"

static inline void remember(struct virtqueue_slot *slot, const struct virtqueue_item *item,
                            bool writable)
{
    slot->token = item->token;
    slot->writable_bytes = writable ? item->bytes : 0;
    slot->shape = 0;
}

/*
 * What is in shared memory already stays as it is: with IN_ORDER ids follow the ring, so that a lap
 * repeats the available entries of the one before, and a pool that gives buffers back in turn the
 * descriptors as well; and a line of the cache that nobody writes stays with both sides. A device
 * that spoils a word spoils it for itself, whether it is read back here or not.
 */
static inline void settle(uint64_t *shared, uint64_t value)
{
    if (virtio_shared_load64(shared) != value) {
        virtio_shared_store64(shared, value);
    }
}

static unsigned split_add_batch(struct virtqueue *queue, const struct virtqueue_item *items,
                                unsigned count, bool writable)
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
        settle(&descriptors[id].address, items[i].address);
        settle(&descriptors[id].rest,
               split_rest(items[i].bytes, writable ? DESCRIPTOR_WRITE : 0, 0));
        remember(&slots[id], &items[i], writable);
        id = slots[id].next;
    }
    queue->free_first = id;
    return i;
}

static unsigned packed_add_batch(struct virtqueue *queue, const struct virtqueue_item *items,
                                 unsigned count, bool writable)
{
    struct virtqueue_descriptor *descriptors = queue->descriptors;
    struct virtqueue_slot *slots = queue->slots;
    unsigned mask = queue->mask;
    unsigned place = queue->ring_added;
    uint16_t id = queue->free_first;
    bool hold_back = place == queue->ring_published;
    unsigned i;

    for (i = 0; i < count && items[i].bytes != 0 && items[i].token != NULL; i++, place++) {
        unsigned flags =
            (writable ? DESCRIPTOR_WRITE : 0) | packed_available(queue, (uint16_t)place);
        uint64_t rest = packed_rest(items[i].bytes, id, flags);

        virtio_shared_store64(&descriptors[place & mask].address, items[i].address);
        if (hold_back) {
            queue->held_back = rest;
            hold_back = false;
        } else {
            virtio_shared_store64(&descriptors[place & mask].rest, rest);
        }
        remember(&slots[id], &items[i], writable);
        id = slots[id].next;
    }
    queue->free_first = id;
    queue->ring_added = (uint16_t)place;
    return i;
}

unsigned virtqueue_add_batch(struct virtqueue *queue, const struct virtqueue_item *items,
                             unsigned count, bool writable)
{
    unsigned added;

    if (queue->broken != NULL) {
        return 0;
    }
    count = count < queue->free_count ? count : queue->free_count;
    added = queue->packed ? packed_add_batch(queue, items, count, writable)
                          : split_add_batch(queue, items, count, writable);
    queue->free_count = (uint16_t)(queue->free_count - added);
    queue->added = (uint16_t)(queue->added + added);
    return added;
}

/*
 * Reads what the device has finished, at most `limit`: for each chain the second half of its used
 * descriptor, or the used element in the same form, into `address`. Returns how many. Right as long
 * as all of them turn out to be of one descriptor.
 */
static unsigned read_used(struct virtqueue *queue, struct virtqueue_item *items, unsigned limit)
{
    unsigned with_device = (uint16_t)(queue->published - queue->taken);
    unsigned mask = queue->mask;
    unsigned count = 0;

    if (queue->packed) {
        const struct virtqueue_descriptor *descriptors = queue->descriptors;
        unsigned place = queue->ring_taken;

        limit = limit < with_device ? limit : with_device;
        for (; count < limit; count++, place++) {
            items[count].address = virtio_shared_load64(&descriptors[place & mask].rest);
            if (!packed_is_used(queue, (uint16_t)place, items[count].address)) {
                break;
            }
        }
        /* 2.8.22: as in packed_used(), once for all. */
        virtio_barrier_observe(queue->order_platform);
        return count;
    }
    if (queue->used_seen == queue->taken && !split_look(queue)) {
        return 0;
    }
    with_device = (uint16_t)(queue->used_seen - queue->taken);
    limit = limit < with_device ? limit : with_device;
    for (unsigned at = queue->taken; count < limit; count++, at++) {
        const struct virtqueue_used_element *element = &queue->used->ring[at & mask];
        uint32_t id = virtio_shared_load32(&element->id);

        items[count].address = packed_rest(virtio_shared_load32(&element->bytes),
                                           (uint16_t)(id > UINT16_MAX ? UINT16_MAX : id), 0);
    }
    return count;
}

static inline unsigned count_taken(struct virtqueue *queue, unsigned count)
{
    queue->free_count = (uint16_t)(queue->free_count + count);
    queue->ring_taken = (uint16_t)(queue->ring_taken + count);
    queue->taken = (uint16_t)(queue->taken + count);
    return count;
}

/* Of those, takes the ones that are as usual, up to the first that is not. Returns how many. */
static unsigned take_usual(struct virtqueue *queue, struct virtqueue_item *items, unsigned count)
{
    struct virtqueue_slot *slots = queue->slots;
    bool packed = queue->packed;
    bool in_order = queue->in_order;
    unsigned size = queue->size;
    uint16_t oldest = queue->oldest;
    uint16_t free_first = queue->free_first;
    unsigned i;

    for (i = 0; i < count; i++) {
        uint16_t id = (uint16_t)(items[i].address >> 32);
        uint32_t bytes = (uint32_t)items[i].address;
        struct virtqueue_slot *slot = &slots[id];

        if (id >= size || slot->token == NULL || slot->shape != 0 || (in_order && id != oldest)) {
            break;
        }
        if (bytes > slot->writable_bytes) {
            if (!packed || slot->writable_bytes != 0) {
                break;
            }
            bytes = 0;
        }
        items[i].token = slot->token;
        items[i].bytes = bytes;
        slot->token = NULL;
        if (in_order) {
            oldest = (uint16_t)((oldest + 1u) & (size - 1u));
        } else {
            slot->next = free_first;
            free_first = id;
        }
    }
    queue->oldest = oldest;
    queue->free_first = free_first;
    return count_taken(queue, i);
}

/* IN_ORDER: of the chains known to be finished, the oldest ones of one descriptor. */
static unsigned take_known(struct virtqueue *queue, struct virtqueue_item *items, unsigned limit)
{
    struct virtqueue_slot *slots = queue->slots;
    unsigned mask = queue->mask;
    unsigned oldest = queue->oldest;
    unsigned i;

    limit = limit < queue->batch ? limit : queue->batch;
    for (i = 0; i < limit && slots[oldest].shape == 0; i++) {
        items[i].token = slots[oldest].token;
        items[i].bytes = slots[oldest].writable_bytes;
        slots[oldest].token = NULL;
        oldest = (oldest + 1) & mask;
    }
    queue->oldest = (uint16_t)oldest;
    queue->batch = (uint16_t)(queue->batch - i);
    if (i != 0 && queue->batch == 0) {
        items[i - 1].bytes = queue->batch_bytes;
    }
    return count_taken(queue, i);
}

/*
 * As far as nothing is unusual; *more: there can be others, or something that virtqueue_take() has
 * to look at. By the index alone: whatever the device writes to the elements, and if it writes them
 * at all (2.7.9), the chains before its index are finished, and there is nothing else to know about
 * chains that it only reads.
 */
static unsigned take_some(struct virtqueue *queue, struct virtqueue_item *items, unsigned limit,
                          bool *more)
{
    unsigned finished;
    unsigned count;

    if (queue->by_index && queue->batch < limit) {
        (void)split_look(queue);
        queue->batch = (uint16_t)(queue->used_seen - queue->taken);
        queue->batch_bytes = 0;
    }
    if (queue->by_index || queue->batch != 0) {
        finished = queue->batch;
        count = take_known(queue, items, limit);
        *more = count < finished || !queue->by_index;
    } else {
        finished = read_used(queue, items, limit);
        count = take_usual(queue, items, finished);
        *more = count < finished || (finished == 0 && queue->published == queue->taken);
    }
    return count;
}

unsigned virtqueue_take_batch(struct virtqueue *queue, struct virtqueue_item *items, unsigned limit)
{
    unsigned taken = 0;
    bool more = true;

    while (more && taken < limit && queue->broken == NULL) {
        unsigned count = take_some(queue, items + taken, limit - taken, &more);

        if (count == 0 && more) {
            items[taken].token = virtqueue_take(queue, &items[taken].bytes);
            if (items[taken].token == NULL) {
                break;
            }
            count = 1;
        }
        taken += count;
    }
    /* An event left behind would come true again in the index's next lap (2.7.7). */
    if (queue->event_index && !queue->packed && !queue->interrupts_on &&
        (uint16_t)(queue->taken - queue->interrupt_after) > UINT16_MAX / 4) {
        split_suppress(queue);
    }
    return taken;
}
