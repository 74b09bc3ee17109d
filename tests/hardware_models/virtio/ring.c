/* SPDX-License-Identifier: BSD-2-Clause */
#include "ring_private.h"
#include <string.h>

static const struct ring_format *format(const struct ring *ring)
{
    return ring_has(ring, FEATURE_RING_PACKED) ? &ring_packed : &ring_split;
}

void ring_reset(struct ring *ring, const struct ring_memory *memory, uint16_t size)
{
    memset(ring->held, 0, ring->held_end * sizeof(ring->held[0]));
    memset(ring, 0, offsetof(struct ring, held));
    ring->memory = memory;
    ring->size = size;
}

bool ring_rule(const struct ring *ring, bool kept, const char *rule)
{
    if (!kept) {
        ring->memory->broken(ring->memory->context, rule);
    }
    return kept;
}

bool ring_load(const struct ring *ring, uint64_t address, void *to, uint32_t bytes)
{
    const void *shared = ring->memory->reach(ring->memory->context, address, bytes, false);

    if (shared == NULL) {
        return false;
    }
    if (ring->memory->read != NULL) {
        ring->memory->read(to, shared, bytes);
    } else {
        memcpy(to, shared, bytes);
    }
    return true;
}

bool ring_store(const struct ring *ring, uint64_t address, const void *from, uint32_t bytes)
{
    void *shared = ring->memory->reach(ring->memory->context, address, bytes, true);

    if (shared == NULL) {
        return false;
    }
    if (ring->memory->write != NULL) {
        ring->memory->write(shared, from, bytes);
    } else {
        memcpy(shared, from, bytes);
    }
    return true;
}

uint16_t ring_load16(const struct ring *ring, uint64_t address)
{
    uint16_t value = 0;
    const uint16_t *shared;

    if (ring->memory->read != NULL) {
        (void)ring_load(ring, address, &value, sizeof(value));
        return value;
    }
    shared = ring->memory->reach(ring->memory->context, address, sizeof(value), false);
    return shared == NULL ? 0 : __atomic_load_n(shared, __ATOMIC_RELAXED);
}

void ring_store16(const struct ring *ring, uint64_t address, uint16_t value)
{
    uint16_t *shared;

    if (ring->memory->write != NULL) {
        (void)ring_store(ring, address, &value, sizeof(value));
        return;
    }
    shared = ring->memory->reach(ring->memory->context, address, sizeof(value), true);
    if (shared != NULL) {
        __atomic_store_n(shared, value, __ATOMIC_RELAXED);
    }
}

bool ring_collect(const struct ring *ring, struct ring_chain *chain, uint64_t address,
                  uint32_t bytes, unsigned flags)
{
    bool writable = (flags & RING_WRITE) != 0;

    ring_rule(ring, bytes != 0, "no descriptor is empty (2.7.5)");
    ring_rule(ring, writable || chain->writable == 0,
              "readable descriptors come before writable ones (2.7.4.2, 2.8.17)");
    ring_rule(ring, chain->count < ring->size, "a chain is not longer than the queue (2.7.5.3.1)");
    if (chain->count == RING_SEGMENTS_MAX) {
        return false;
    }
    chain->segment[chain->count++] = (struct ring_segment){address, bytes, writable};
    if (writable) {
        chain->writable += bytes;
    } else {
        chain->readable += bytes;
    }
    return true;
}

void ring_check_indirect(const struct ring *ring, uint64_t address, uint32_t bytes)
{
    ring_rule(ring, ring_has(ring, FEATURE_INDIRECT_DESC), "indirect tables are negotiated");
    ring_rule(ring, bytes != 0 && bytes % RING_DESCRIPTOR_BYTES == 0,
              "an indirect table has whole entries, at least one");
    ring_rule(ring, address % RING_DESCRIPTOR_BYTES == 0, "an indirect table is aligned");
}

void ring_hold(struct ring *ring, const struct ring_chain *chain)
{
    bool known = chain->id < ring->size && chain->id < RING_SIZE_MAX;

    if (ring_rule(ring, known, "ids are below the queue's size")) {
        ring_rule(ring, ring->held[chain->id] == 0,
                  "a chain is not made available while the device has it");
        ring->held[chain->id] = chain->descriptors;
        if (chain->id >= ring->held_end) {
            ring->held_end = (uint16_t)(chain->id + 1);
        }
    }
}

bool ring_take(struct ring *ring, struct ring_chain *chain)
{
    return format(ring)->take(ring, chain);
}

unsigned ring_available(const struct ring *ring)
{
    return format(ring)->available(ring);
}

void ring_return(struct ring *ring, const struct ring_chain *chains, unsigned count, uint32_t bytes)
{
    unsigned descriptors = 0;

    for (unsigned i = 0; i < count; i++) {
        ring->held[chains[i].id % RING_SIZE_MAX] = 0;
        descriptors += chains[i].descriptors;
    }
    ring_push(ring, chains[count - 1].id, bytes, count, descriptors);
}

void ring_push(struct ring *ring, uint32_t id, uint32_t bytes, unsigned chains,
               unsigned descriptors)
{
    format(ring)->push(ring, id, bytes, chains, descriptors);
}

bool ring_wants_interrupt(struct ring *ring)
{
    return format(ring)->wants_interrupt(ring);
}

void ring_ask(const struct ring *ring, uint64_t ahead)
{
    format(ring)->ask(ring, ahead);
}

void ring_ask_never(const struct ring *ring)
{
    format(ring)->ask_never(ring);
}

uint64_t ring_place(const struct ring *ring, enum ring_field field, uint64_t position)
{
    switch (field) {
    case RING_AVAILABLE_FLAGS:
        return ring->driver_area + RING_FLAGS_OFFSET;
    case RING_AVAILABLE_INDEX:
        return ring->driver_area + RING_INDEX_OFFSET;
    case RING_AVAILABLE_ENTRY:
        return ring->driver_area + ring_available_entry_offset(position, ring->size);
    case RING_USED_EVENT:
        return ring->driver_area + ring_used_event_offset(ring->size);
    case RING_DRIVER_EVENT:
        return ring->driver_area;
    case RING_USED_FLAGS:
        return ring->device_area + RING_FLAGS_OFFSET;
    case RING_USED_INDEX:
        return ring->device_area + RING_INDEX_OFFSET;
    case RING_USED_ELEMENT:
        return ring->device_area + ring_used_element_offset(position, ring->size);
    case RING_AVAILABLE_EVENT:
        return ring->device_area + ring_available_event_offset(ring->size);
    case RING_DEVICE_EVENT:
        return ring->device_area;
    default: /* RING_DESCRIPTOR */
        return ring->descriptors + ring_descriptor_offset(position, ring->size);
    }
}

bool ring_wrap(const struct ring *ring, uint64_t position)
{
    return ring_wrap_at(position, ring->size);
}
