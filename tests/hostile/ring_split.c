/* SPDX-License-Identifier: BSD-2-Clause */
/* The device's side of split virtqueues (VIRTIO 1.3, 2.7). All accesses are unseen ones: the rings
 * belong to the device as well. */
#include "hostile.h"
#include <string.h>

struct descriptor {
    uint64_t address;
    uint32_t bytes;
    uint16_t flags;
    uint16_t next;
};

static uint16_t load16(uint64_t address)
{
    uint16_t value = 0;

    (void)memory_load(address, &value, sizeof(value));
    return value;
}

static void store16(uint64_t address, uint16_t value)
{
    memory_store(address, &value, sizeof(value));
}

bool ring_collect(struct chain *chain, uint64_t address, uint32_t bytes, unsigned flags)
{
    bool writable = (flags & RING_WRITE) != 0;

    if (chain->count == SEGMENTS_MAX) {
        return false;
    }
    HOSTILE_CHECK(!device_strict() || (bytes != 0 && (writable || chain->writable == 0)),
                  "an empty descriptor, or readable after writable (2.7.4.2)");
    chain->segment[chain->count++] = (struct segment){address, bytes, writable};
    if (writable) {
        chain->writable += bytes;
    } else {
        chain->readable += bytes;
    }
    return true;
}

/* The chain in one table; false: it does not end, or lies outside. */
static bool collect(struct chain *chain, uint64_t table, uint32_t entries, uint16_t first)
{
    struct descriptor descriptor = {.flags = RING_NEXT, .next = first};

    for (uint32_t count = 0; (descriptor.flags & RING_NEXT) != 0; count++) {
        if (count == entries || descriptor.next >= entries ||
            !memory_load(table + UINT64_C(16) * descriptor.next, &descriptor, sizeof(descriptor)) ||
            !ring_collect(chain, descriptor.address, descriptor.bytes, descriptor.flags)) {
            HOSTILE_CHECK(!device_strict(), "a chain without end, or outside its table (2.7.5)");
            return false;
        }
    }
    return true;
}

static bool split_pop(struct queue *queue, struct chain *chain)
{
    uint16_t available = load16(queue->driver_area + 2);
    struct descriptor head = {0};
    uint64_t entry = queue->driver_area + 4 + UINT64_C(2) * (queue->next_available % queue->size);

    HOSTILE_CHECK(!device_strict() || (uint16_t)(available - queue->next_available) <= queue->size,
                  "more chains available than the queue has entries");
    if (available == queue->next_available) {
        return false;
    }
    *chain = (struct chain){.id = load16(entry), .slots = 1};
    queue->next_available++;
    if (chain->id >= queue->size ||
        !memory_load(queue->descriptors + UINT64_C(16) * chain->id, &head, sizeof(head))) {
        HOSTILE_CHECK(!device_strict(), "chain %u of %u entries", chain->id, queue->size);
        return false;
    }
    if ((head.flags & RING_INDIRECT) != 0) {
        HOSTILE_CHECK(!device_strict() ||
                          (device_features(VIRTIO_F_INDIRECT_DESC) && head.flags == RING_INDIRECT),
                      "indirect, not negotiated or with NEXT (2.7.5.3.1)");
        return collect(chain, head.address, head.bytes / 16, 0);
    }
    return collect(chain, queue->descriptors, queue->size, chain->id);
}

static void split_push(struct queue *queue, uint32_t id, uint32_t bytes, unsigned batch,
                       unsigned slots)
{
    uint32_t element[2] = {id, bytes};

    (void)slots;
    memory_store(queue->device_area + 4 + UINT64_C(8) * (queue->next_used % queue->size), element,
                 sizeof(element));
    queue->next_used = (uint16_t)(queue->next_used + batch);
    store16(queue->device_area + 2, queue->next_used);
}

static bool split_wants_interrupt(struct queue *queue)
{
    uint16_t before = queue->signalled;
    uint16_t event = load16(queue->driver_area + 4 + UINT64_C(2) * queue->size);
    uint16_t flags = load16(queue->driver_area);

    queue->signalled = queue->next_used;
    if (device_features(VIRTIO_F_EVENT_IDX)) {
        HOSTILE_CHECK(!device_strict() || flags == 0, "flags with EVENT_IDX (2.7.7.1)");
        return (uint16_t)(queue->next_used - event - 1u) < (uint16_t)(queue->next_used - before);
    }
    return (flags & 1u) == 0 && queue->next_used != before;
}

static void split_ask(struct queue *queue, bool never)
{
    if (device_features(VIRTIO_F_EVENT_IDX)) {
        store16(queue->device_area + 4 + UINT64_C(8) * queue->size,
                (uint16_t)(queue->next_available - (never ? 1 : 0)));
    } else {
        store16(queue->device_area, never);
    }
}

static void split_lie(struct queue *queue, unsigned which, uint32_t value)
{
    uint64_t used = queue->device_area;

    switch (which % 4) {
    case 0: /* the index jumps */
        queue->next_used = (uint16_t)(queue->next_used + value);
        store16(used + 2, queue->next_used);
        break;
    case 1: /* it jumps, and back again later */
        store16(used + 2, (uint16_t)(queue->next_used + value));
        break;
    case 2: /* what is published already becomes something else */
        memory_store(used + 4 + UINT64_C(8) * ((queue->next_used - 1u) % queue->size), &value, 4);
        break;
    default:
        memory_store(used + 8 + UINT64_C(8) * ((queue->next_used - 1u) % queue->size), &value, 4);
    }
}

static uint32_t split_area_bytes(const struct queue *queue, unsigned area)
{
    const uint32_t bytes[] = {16u * queue->size, 6u + 2u * queue->size, 6u + 8u * queue->size};

    return bytes[area];
}

const struct ring_operations ring_split = {
    .pop = split_pop,
    .push = split_push,
    .wants_interrupt = split_wants_interrupt,
    .ask = split_ask,
    .lie = split_lie,
    .area_bytes = split_area_bytes,
};
