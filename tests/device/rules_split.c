/* SPDX-License-Identifier: BSD-2-Clause */
/* Rules on split rings (VIRTIO 1.3, 2.7), looked at when the available index is about to move. */
#include "rules_ring.h"
#include <stdio.h>
#include <string.h>

struct descriptor {
    uint64_t address;
    uint32_t bytes;
    uint16_t flags;
    uint16_t next;
};

static void walk_table(const struct rules_queue *queue, struct chain *chain,
                       const struct descriptor *whole)
{
    uint32_t entries = whole->bytes / sizeof(struct descriptor);
    const struct descriptor *table = qtest_memory(whole->address, whole->bytes);
    uint32_t at = 0;

    rules_check(RULE_INDIRECT_AGREED, rules_agreed(VIRTIO_F_INDIRECT_DESC));
    rules_check(RULE_INDIRECT_PLAIN, (whole->flags & (NEXT | WRITE)) == 0);
    rules_check(RULE_CHAIN_BYTES, entries != 0 && whole->bytes % sizeof(struct descriptor) == 0);
    for (;;) {
        rules_check(RULE_CHAIN_BOUNDED, at < entries && chain->count < queue->size);
        rules_check(RULE_INDIRECT_PLAIN, (table[at].flags & INDIRECT) == 0);
        chain_add(chain, table[at].address, table[at].bytes, (table[at].flags & WRITE) != 0);
        if ((table[at].flags & NEXT) == 0) {
            return;
        }
        at = table[at].next;
    }
}

/* Follows a chain; its descriptors are the device's from now on. Returns how many. */
static uint16_t walk(struct rules_queue *queue, uint16_t head, struct chain *chain)
{
    const struct descriptor *descriptors =
        qtest_memory(queue->descriptors, queue->size * sizeof(struct descriptor));
    uint32_t at = head;

    for (uint16_t count = 1;; count++) {
        const struct descriptor *each = &descriptors[at];

        rules_check(RULE_CHAIN_BOUNDED, at < queue->size && chain->count < queue->size);
        rules_check(RULE_DESCRIPTOR_FREE, !queue->with_device[at]);
        queue->with_device[at] = true;
        if ((each->flags & INDIRECT) != 0) {
            walk_table(queue, chain, each);
        } else {
            chain_add(chain, each->address, each->bytes, (each->flags & WRITE) != 0);
        }
        queue->next[at] = (each->flags & NEXT) != 0 ? each->next : UINT16_MAX;
        if (queue->next[at] == UINT16_MAX) {
            return count;
        }
        if (rules_agreed(VIRTIO_F_IN_ORDER)) {
            rules_check(RULE_IN_ORDER_NEXT, each->next == (at + 1) % queue->size);
        }
        at = each->next;
    }
}

static void check_chain(struct rules_queue *queue, uint16_t head)
{
    struct chain chain = chain_begin(queue);
    uint16_t count = walk(queue, head, &chain);

    if (rules_agreed(VIRTIO_F_IN_ORDER)) {
        rules_check(RULE_IN_ORDER_RING, head == queue->next_in_order);
        queue->next_in_order = (uint16_t)((head + count) % queue->size);
    }
    rules_give(queue, head, count);
    chain_check(queue, &chain);
}

void split_take_back(struct rules_queue *queue)
{
    const uint8_t *used = qtest_memory(queue->device_area, 6 + 8 * (size_t)queue->size);
    uint16_t index;

    memcpy(&index, used + 2, sizeof(index));
    for (; queue->used != index; queue->used++) {
        unsigned before = queue->chains_returned;
        uint32_t id;

        memcpy(&id, used + 4 + 8 * (size_t)(queue->used % queue->size), sizeof(id));
        if (id >= queue->size || rules_return(queue, (uint16_t)id) == 0) {
            continue;
        }
        for (; before != queue->chains_returned; before++) {
            uint32_t at =
                rules_agreed(VIRTIO_F_IN_ORDER) ? queue->order[before % VIRTQUEUE_SIZE_MAX] : id;

            for (; at < queue->size && queue->with_device[at]; at = queue->next[at]) {
                queue->with_device[at] = false;
            }
        }
    }
}

static void published(struct rules_queue *queue, uint16_t index)
{
    /* flags, index, ring */
    const uint16_t *available = qtest_memory(queue->driver_area, 4 + 2 * (size_t)queue->size);
    const uint16_t *ring = available + 2;
    bool by_event = rules_agreed(VIRTIO_F_EVENT_IDX);

    split_take_back(queue);
    rules_check(by_event ? RULE_FLAGS_ZERO : RULE_FLAGS_VALID, available[0] <= !by_event);
    rules_check(RULE_INDEX_FORWARD, (uint16_t)(index - queue->published) <= queue->size);
    for (; queue->published != index; queue->published++) {
        struct rules_publication publication = {.queue = queue,
                                                .at = ring[queue->published % queue->size]};

        check_chain(queue, publication.at);
        if (rules_on_publish != NULL) {
            rules_on_publish(&publication);
        }
    }
}

/* Whether the store asks for an interrupt with the next chain: by event, or by flag. */
static bool wants_next(const struct rules_queue *queue, const uint16_t *shared, uint16_t value)
{
    const uint16_t *available = qtest_memory(queue->driver_area, 6 + 2 * (size_t)queue->size);
    const uint16_t *used = qtest_memory(queue->device_area, 4);

    return rules_agreed(VIRTIO_F_EVENT_IDX)
               ? shared == available + 2 + queue->size && value == used[1]
               : shared == available && value == 0;
}

void split_store16(struct rules_queue *queue, const uint16_t *shared, uint16_t value)
{
    const uint16_t *available = qtest_memory(queue->driver_area, 4);

    if (shared == available + 1) {
        published(queue, value);
    } else if (rules_on_wish != NULL && wants_next(queue, shared, value)) {
        rules_on_wish((unsigned)(queue - rules.queue));
    }
}

void split_describe(const struct rules_queue *queue)
{
    const uint16_t *available = qtest_memory(queue->driver_area, 6 + 2 * (size_t)queue->size);
    const uint16_t *used = qtest_memory(queue->device_area, 6 + 8 * (size_t)queue->size);

    printf("available %#x %u used_event %u; used %#x %u avail_event %u\n", available[0],
           available[1], available[2 + queue->size], used[0], used[1],
           used[2 + 4 * (size_t)queue->size]);
}
