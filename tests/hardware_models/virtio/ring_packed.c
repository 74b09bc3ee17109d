/* SPDX-License-Identifier: BSD-2-Clause */
/* Packed virtqueues (VIRTIO 1.3, 2.8). */
#include "ring_private.h"

struct descriptor {
    uint64_t address;
    uint32_t bytes;
    uint16_t id;
    uint16_t flags;
};

/* Loads the descriptor at the position. Returns false if it is not available. */
static bool load_available(const struct ring *ring, struct descriptor *descriptor,
                           uint64_t position)
{
    uint64_t place = ring_place(ring, RING_DESCRIPTOR, position);

    *descriptor =
        (struct descriptor){.flags = ring_load16(ring, place + RING_PACKED_DESCRIPTOR_FLAGS)};
    if (!ring_is_available(descriptor->flags, position, ring->size)) {
        return false;
    }
    ring_acquire();
    return ring_load(ring, place, descriptor, sizeof(*descriptor));
}

static unsigned packed_available(const struct ring *ring)
{
    struct descriptor descriptor;
    uint64_t position = ring->available;
    unsigned chains = 0;

    while (position - ring->used < ring->size && load_available(ring, &descriptor, position)) {
        chains += (descriptor.flags & RING_NEXT) == 0;
        position++;
    }
    return chains;
}

/* 2.8.7: entries of the table in order, without NEXT or ids. */
static bool collect_table(struct ring *ring, struct ring_chain *chain,
                          const struct descriptor *head)
{
    ring_check_indirect(ring, head->address, head->bytes);
    ring_rule(ring, chain->count == 0 && (head->flags & (RING_NEXT | RING_WRITE)) == 0,
              "a descriptor with INDIRECT is alone, and without WRITE (2.8.19)");
    for (uint32_t i = 0; i < head->bytes / RING_DESCRIPTOR_BYTES; i++) {
        struct descriptor descriptor = {0};

        if (!ring_load(ring, head->address + UINT64_C(1) * RING_DESCRIPTOR_BYTES * i, &descriptor,
                       sizeof(descriptor)) ||
            !ring_collect(ring, chain, descriptor.address, descriptor.bytes, descriptor.flags)) {
            return false;
        }
        ring_rule(ring, (descriptor.flags & ~RING_WRITE) == 0,
                  "an indirect table has no flags but WRITE (2.8.19)");
    }
    chain->indirect = true;
    ring->indirect_chains++;
    return chain->count != 0;
}

static bool packed_take(struct ring *ring, struct ring_chain *chain)
{
    struct descriptor descriptor = {.flags = RING_NEXT};
    uint64_t position = ring->available;
    bool whole = true;

    *chain = (struct ring_chain){0};
    while ((descriptor.flags & RING_NEXT) != 0 && chain->descriptors < ring->size) {
        if (!load_available(ring, &descriptor, position)) {
            ring_rule(ring, chain->descriptors == 0,
                      "a chain's first descriptor is made available last (2.8.17)");
            return false;
        }
        ring_rule(ring,
                  (descriptor.flags &
                   ~(RING_USED | RING_AVAILABLE | RING_NEXT | RING_WRITE | RING_INDIRECT)) == 0,
                  "no reserved flags are set");
        if ((descriptor.flags & RING_INDIRECT) != 0) {
            whole = collect_table(ring, chain, &descriptor);
        } else {
            whole =
                ring_collect(ring, chain, descriptor.address, descriptor.bytes, descriptor.flags) &&
                whole;
        }
        chain->id = descriptor.id; /* 2.8.6: the last one's */
        chain->descriptors++;
        position++;
        ring_rule(ring, position - ring->used <= ring->size,
                  "descriptors that the device has are not changed (2.8.16, 2.8.17)");
    }
    ring->available = position;
    ring_rule(ring, (descriptor.flags & RING_NEXT) == 0, "a chain ends within the queue");
    if (ring_rule(ring, whole, "the device can use each chain")) {
        ring_hold(ring, chain);
    }
    return whole;
}

static void packed_push(struct ring *ring, uint32_t id, uint32_t bytes, unsigned chains,
                        unsigned descriptors)
{
    uint64_t place = ring_place(ring, RING_DESCRIPTOR, ring->used);
    /* Length, id. */
    const uint16_t element[3] = {(uint16_t)bytes, (uint16_t)(bytes >> 16), (uint16_t)id};
    unsigned flags = ring_used_flags(ring->used, ring->size);

    (void)chains;
    /* 2.8.3: WRITE says that something was written. */
    if (bytes != 0 && (!ring->omits_write || ring->used % 2 != 0)) {
        flags |= RING_WRITE;
    }
    (void)ring_store(ring, place + RING_DESCRIPTOR_LENGTH, element, sizeof(element));
    ring_release();
    ring_store16(ring, place + RING_PACKED_DESCRIPTOR_FLAGS, (uint16_t)flags);
    ring->used += descriptors;
}

/* True if the descriptor that `event` names is one of those that were used since the last decision
 * (2.8.10 and its example code). */
static bool is_passed(const struct ring *ring, uint16_t event)
{
    unsigned size = ring->size;
    bool wrap = ring_wrap(ring, ring->signalled);
    unsigned before = (unsigned)(ring->signalled % size);
    unsigned now = (unsigned)(ring->used % size) + (ring_wrap(ring, ring->used) == wrap ? 0 : size);
    unsigned at =
        (event & ~RING_EVENT_WRAP) + (((event & RING_EVENT_WRAP) != 0) == wrap ? 0 : size);

    return at >= before && at < now;
}

static bool packed_wants_interrupt(struct ring *ring)
{
    uint64_t place = ring_place(ring, RING_DRIVER_EVENT, 0);
    uint16_t event = ring_load16(ring, place);
    uint16_t flags = ring_load16(ring, place + RING_EVENT_FLAGS_OFFSET);
    bool wanted = false;

    ring_rule(ring, flags <= RING_EVENT_DESCRIPTOR, "the flags of event suppression are defined");
    if ((flags & RING_EVENT_FLAGS) == RING_EVENT_ENABLE) {
        wanted = ring->signalled != ring->used;
    } else if ((flags & RING_EVENT_FLAGS) == RING_EVENT_DESCRIPTOR) {
        ring_rule(ring, ring_has(ring, FEATURE_EVENT_IDX),
                  "an event has a descriptor only with EVENT_IDX (2.8.10)");
        ring_rule(ring, (event & ~RING_EVENT_WRAP) < ring->size,
                  "an event's descriptor is the queue's");
        wanted = is_passed(ring, event);
    }
    ring->signalled = ring->used;
    return wanted;
}

static void store_event(const struct ring *ring, uint16_t event, uint16_t flags)
{
    const uint16_t both[2] = {event, flags};

    (void)ring_store(ring, ring_place(ring, RING_DEVICE_EVENT, 0), both, sizeof(both));
}

/* 2.8.10 */
static void packed_ask(const struct ring *ring, uint64_t ahead)
{
    uint64_t position = ring->available + ahead;

    if (ring_has(ring, FEATURE_EVENT_IDX)) {
        store_event(ring, ring_event_at(position, ring->size), RING_EVENT_DESCRIPTOR);
    } else {
        store_event(ring, 0, RING_EVENT_ENABLE);
    }
}

static void packed_ask_never(const struct ring *ring)
{
    store_event(ring, 0, RING_EVENT_DISABLE);
}

const struct ring_format ring_packed = {
    .take = packed_take,
    .available = packed_available,
    .push = packed_push,
    .wants_interrupt = packed_wants_interrupt,
    .ask = packed_ask,
    .ask_never = packed_ask_never,
};
