/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Rules on packed rings (VIRTIO 1.3, 2.8). What is published shows with the store into the flags of
 * the first descriptor that the device waits for: everything behind it must be in order by then.
 * Places are numbers of descriptors that never start anew; each lap changes the wrap counter.
 */
#include "rules_ring.h"
#include <stdio.h>
#include <string.h>

struct descriptor {
    uint64_t address;
    uint64_t rest; /* bytes (bits 0-31), id (32-47), flags (48-63) */
};

#define AVAILABLE 0x0080u
#define USED      0x8000u

#define EVENT_OFFSET(event)   ((event) & 0x7fffu)
#define EVENT_WRAP(event)     (((event) & 0x8000u) != 0)
#define EVENT_FLAGS(event)    (((event) >> 16) & 3u)
#define EVENT_RESERVED(event) ((event) >> 18)
enum { EVENT_ENABLE, EVENT_DISABLE, EVENT_DESCRIPTOR };

static struct descriptor *ring_of(const struct rules_queue *queue)
{
    return qtest_memory(queue->descriptors, queue->size * sizeof(struct descriptor));
}

static uint32_t bytes_of(uint64_t rest)
{
    return (uint32_t)rest;
}

static uint16_t id_of(uint64_t rest)
{
    return (uint16_t)(rest >> 32);
}

static unsigned flags_of(uint64_t rest)
{
    return (unsigned)(rest >> 48);
}

/* 2.8.1: the wrap counter begins with 1. */
static bool wrap_at(const struct rules_queue *queue, uint16_t place)
{
    return (place / queue->size) % 2 == 0;
}

static bool is_marked(uint64_t rest, bool available, bool used)
{
    return ((flags_of(rest) & AVAILABLE) != 0) == available &&
           ((flags_of(rest) & USED) != 0) == used;
}

static bool is_available(const struct rules_queue *queue, uint16_t place, uint64_t rest)
{
    return is_marked(rest, wrap_at(queue, place), !wrap_at(queue, place));
}

void packed_take_back(struct rules_queue *queue)
{
    const struct descriptor *ring = ring_of(queue);

    while (queue->used != queue->published) {
        bool wrap = wrap_at(queue, queue->used);
        uint64_t rest = __atomic_load_n(&ring[queue->used % queue->size].rest, __ATOMIC_ACQUIRE);

        unsigned descriptors = is_marked(rest, wrap, wrap) ? rules_return(queue, id_of(rest)) : 0;

        if (descriptors == 0) {
            return;
        }
        queue->used = (uint16_t)(queue->used + descriptors);
    }
}

static void walk_table(const struct rules_queue *queue, struct chain *chain, uint64_t address,
                       uint64_t rest)
{
    uint32_t entries = bytes_of(rest) / sizeof(struct descriptor);
    const struct descriptor *table = qtest_memory(address, bytes_of(rest));

    rules_check(RULE_INDIRECT_AGREED, rules_agreed(VIRTIO_F_INDIRECT_DESC));
    rules_check(RULE_INDIRECT_PLAIN, (flags_of(rest) & NEXT) == 0 && chain->count == 0);
    rules_check(RULE_CHAIN_BYTES, entries != 0 && bytes_of(rest) % sizeof(*table) == 0);
    rules_check(RULE_CHAIN_BOUNDED, entries <= queue->size);
    for (uint32_t i = 0; i < entries; i++) {
        rules_check(RULE_INDIRECT_PLAIN, (flags_of(table[i].rest) & ~WRITE) == 0);
        chain_add(chain, table[i].address, bytes_of(table[i].rest),
                  (flags_of(table[i].rest) & WRITE) != 0);
    }
}

/* One list of descriptors from `published` on; `first` is what the first one will have. */
static void check_list(struct rules_queue *queue, uint64_t first)
{
    const struct descriptor *ring = ring_of(queue);
    struct chain chain = chain_begin(queue);
    uint64_t rest = first;
    uint16_t count = 0;

    for (;;) {
        uint16_t place = (uint16_t)(queue->published + count);
        const struct descriptor *each = &ring[place % queue->size];

        rest = count == 0 ? first : each->rest;
        rules_check(RULE_PACKED_ROOM, (uint16_t)(place - queue->used) < queue->size);
        rules_check(count == 0 ? RULE_PACKED_WRAP : RULE_PACKED_COMPLETE,
                    is_available(queue, place, rest));
        count++;
        if ((flags_of(rest) & INDIRECT) != 0) {
            walk_table(queue, &chain, each->address, rest);
            break;
        }
        chain_add(&chain, each->address, bytes_of(rest), (flags_of(rest) & WRITE) != 0);
        if ((flags_of(rest) & NEXT) == 0) {
            break;
        }
    }
    rules_give(queue, id_of(rest), count); /* 2.8.6: the id is in the last descriptor */
    chain_check(queue, &chain);
    queue->published = (uint16_t)(queue->published + count);
}

/* Everything that the device will find once it finds `first`. Returns what `first` is to be. */
static uint64_t published(struct rules_queue *queue, uint64_t first)
{
    struct descriptor *ring = ring_of(queue);
    uint64_t stored = first;
    uint64_t *rest = &stored;

    for (bool more = true; more;) {
        struct rules_publication publication = {
            .queue = queue, .at = (uint16_t)(queue->published % queue->size), .rest = rest};

        check_list(queue, *rest);
        rest = &ring[queue->published % queue->size].rest;
        more = (uint16_t)(queue->published - queue->used) < queue->size &&
               is_available(queue, queue->published, *rest);
        if (rules_on_publish != NULL) {
            rules_on_publish(&publication);
        }
    }
    return stored;
}

uint64_t packed_store64(struct rules_queue *queue, const uint64_t *shared, uint64_t value)
{
    const uint64_t *ring = &ring_of(queue)->address;
    size_t word = (size_t)(shared - ring);
    uint16_t ahead;

    if (shared < ring || word >= 2 * (size_t)queue->size) {
        return value;
    }
    packed_take_back(queue);
    ahead = (uint16_t)((word / 2 - queue->published) % queue->size);
    rules_check(RULE_PACKED_UNTOUCHED,
                (uint16_t)(queue->published - queue->used) + ahead < (unsigned)queue->size);
    return word % 2 != 0 && ahead == 0 ? published(queue, value) : value;
}

void packed_store32(struct rules_queue *queue, const uint32_t *shared, uint32_t value)
{
    unsigned flags = EVENT_FLAGS(value);
    unsigned number = (unsigned)(queue - rules.queue);

    if (shared != qtest_memory(queue->driver_area, sizeof(value))) {
        return;
    }
    rules_check(RULE_EVENT_RESERVED, EVENT_RESERVED(value) == 0 && flags <= EVENT_DESCRIPTOR);
    if (flags == EVENT_DESCRIPTOR) {
        rules_check(RULE_EVENT_AGREED, rules_agreed(VIRTIO_F_EVENT_IDX));
        rules_check(RULE_EVENT_INSIDE, EVENT_OFFSET(value) < queue->size);
    }
    packed_take_back(queue);
    if (rules_on_wish != NULL &&
        (flags == EVENT_ENABLE ||
         (flags == EVENT_DESCRIPTOR && EVENT_OFFSET(value) == queue->used % queue->size &&
          EVENT_WRAP(value) == wrap_at(queue, queue->used)))) {
        rules_on_wish(number);
    }
}

void packed_describe(const struct rules_queue *queue)
{
    const uint32_t *driver = qtest_memory(queue->driver_area, sizeof(*driver));
    const uint32_t *device = qtest_memory(queue->device_area, sizeof(*device));

    printf("published to %u, used to %u; driver's event %#x, device's %#x\n", queue->published,
           queue->used, *driver, *device);
}
