/* SPDX-License-Identifier: BSD-2-Clause */
/* Split virtqueues (VIRTIO 1.3, 2.7). */
#include "ring_private.h"

struct descriptor {
    uint64_t address;
    uint32_t bytes;
    uint16_t flags;
    uint16_t next;
};

/* A table of descriptors: the ring's own, or an indirect one. */
struct table {
    uint64_t address;
    uint32_t entries;
};

static uint16_t available_index(const struct ring *ring)
{
    uint16_t index = ring_load16(ring, ring_place(ring, RING_AVAILABLE_INDEX, 0));

    ring_acquire();
    return index;
}

/* Number of chains between the driver's index and what was taken. */
static uint16_t distance(const struct ring *ring, uint16_t index)
{
    uint16_t chains = (uint16_t)(index - ring->available);

    ring_rule(ring, chains <= ring->size,
              "no more chains are available than the queue has entries");
    return chains;
}

static unsigned split_available(const struct ring *ring)
{
    return distance(ring, available_index(ring));
}

/* Returns false if the chain has no end, or leaves its table. */
static bool collect(const struct ring *ring, struct ring_chain *chain, const struct table *table,
                    uint16_t first)
{
    struct descriptor descriptor = {.flags = RING_NEXT, .next = first};

    for (uint32_t count = 0; (descriptor.flags & RING_NEXT) != 0; count++) {
        uint16_t at = descriptor.next;

        if (count == table->entries || at >= table->entries ||
            !ring_load(ring, table->address + UINT64_C(1) * RING_DESCRIPTOR_BYTES * at, &descriptor,
                       sizeof(descriptor)) ||
            !ring_collect(ring, chain, descriptor.address, descriptor.bytes, descriptor.flags)) {
            ring_rule(ring, false, "a chain ends, and in its own table (2.7.5)");
            return false;
        }
        ring_rule(ring, (descriptor.flags & ~(RING_NEXT | RING_WRITE)) == 0,
                  "a descriptor within a chain has no flags but NEXT and WRITE");
        ring_rule(ring,
                  !ring_has(ring, FEATURE_IN_ORDER) || (descriptor.flags & RING_NEXT) == 0 ||
                      descriptor.next == (at + 1u == table->entries ? 0 : at + 1u),
                  "descriptors are used in ring order (2.7.5.1, 2.7.5.3.1)");
    }
    return true;
}

/* The chain that begins with the ring's descriptor chain->id. */
static bool collect_chain(struct ring *ring, struct ring_chain *chain)
{
    struct table table = {ring->descriptors, ring->size};
    struct descriptor head = {0};
    bool whole;

    if (chain->id >= ring->size ||
        !ring_load(ring, ring_place(ring, RING_DESCRIPTOR, chain->id), &head, sizeof(head))) {
        ring_rule(ring, false, "the available ring names descriptors of the queue");
        return false;
    }
    if ((head.flags & RING_INDIRECT) == 0) {
        whole = collect(ring, chain, &table, chain->id);
        chain->descriptors = (uint16_t)chain->count;
        return whole;
    }
    ring_check_indirect(ring, head.address, head.bytes);
    ring_rule(ring, head.flags == RING_INDIRECT,
              "a descriptor with INDIRECT has no other flag (2.7.5.3.1)");
    table = (struct table){head.address, head.bytes / RING_DESCRIPTOR_BYTES};
    chain->indirect = true;
    chain->descriptors = 1;
    ring->indirect_chains++;
    whole = collect(ring, chain, &table, 0);
    ring_rule(ring, !whole || chain->count == table.entries, "an indirect table is used whole");
    return whole;
}

static bool split_take(struct ring *ring, struct ring_chain *chain)
{
    ring_rule(ring,
              !ring_has(ring, FEATURE_EVENT_IDX) ||
                  ring_load16(ring, ring_place(ring, RING_AVAILABLE_FLAGS, 0)) == 0,
              "the available ring's flags are 0 with EVENT_IDX (2.7.7.1)");
    if (distance(ring, available_index(ring)) == 0) {
        return false;
    }
    *chain = (struct ring_chain){
        .id = ring_load16(ring, ring_place(ring, RING_AVAILABLE_ENTRY, ring->available)),
        .descriptors = 1,
    };
    ring->available++;
    if (!collect_chain(ring, chain)) {
        return false;
    }
    ring_hold(ring, chain);
    ring_rule(ring,
              !ring_has(ring, FEATURE_IN_ORDER) ||
                  chain->id == ring->taken_descriptors % ring->size,
              "chains begin in ring order with IN_ORDER (2.7.5)");
    ring->taken_descriptors += chain->descriptors;
    return true;
}

static void split_push(struct ring *ring, uint32_t id, uint32_t bytes, unsigned chains,
                       unsigned descriptors)
{
    const uint32_t element[2] = {id, bytes};

    (void)descriptors;
    (void)ring_store(ring, ring_place(ring, RING_USED_ELEMENT, ring->used), element,
                     sizeof(element));
    ring->used += chains;
    ring_release();
    ring_store16(ring, ring_place(ring, RING_USED_INDEX, 0), (uint16_t)ring->used);
}

static bool split_wants_interrupt(struct ring *ring)
{
    uint16_t now = (uint16_t)ring->used;
    uint16_t before = (uint16_t)ring->signalled;
    uint16_t event = ring_load16(ring, ring_place(ring, RING_USED_EVENT, 0));
    uint16_t flags = ring_load16(ring, ring_place(ring, RING_AVAILABLE_FLAGS, 0));

    ring->signalled = ring->used;
    if (ring_has(ring, FEATURE_EVENT_IDX)) {
        ring_rule(ring, flags == 0, "the available ring's flags are 0 with EVENT_IDX (2.7.7.1)");
        return ring_passed_event(event, before, now);
    }
    return (flags & RING_AVAILABLE_NO_INTERRUPT) == 0 && now != before;
}

/* 2.7.10 */
static void split_ask(const struct ring *ring, uint64_t ahead)
{
    if (ring_has(ring, FEATURE_EVENT_IDX)) {
        ring_store16(ring, ring_place(ring, RING_AVAILABLE_EVENT, 0),
                     (uint16_t)(ring->available + ahead));
    } else {
        ring_store16(ring, ring_place(ring, RING_USED_FLAGS, 0), 0);
    }
}

/* With EVENT_IDX: at an index that the driver has passed. */
static void split_ask_never(const struct ring *ring)
{
    if (ring_has(ring, FEATURE_EVENT_IDX)) {
        ring_store16(ring, ring_place(ring, RING_AVAILABLE_EVENT, 0),
                     (uint16_t)(ring->available - 1));
    } else {
        ring_store16(ring, ring_place(ring, RING_USED_FLAGS, 0), RING_USED_NO_NOTIFY);
    }
}

const struct ring_format ring_split = {
    .take = split_take,
    .available = split_available,
    .push = split_push,
    .wants_interrupt = split_wants_interrupt,
    .ask = split_ask,
    .ask_never = split_ask_never,
};
