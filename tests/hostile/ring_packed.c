/* SPDX-License-Identifier: BSD-2-Clause */
/* The device's side of packed virtqueues (VIRTIO 1.3, 2.8). */
#include "hostile.h"
#include <string.h>

struct descriptor {
    uint64_t address;
    uint32_t bytes;
    uint16_t id;
    uint16_t flags;
};

#define AVAILABLE (1u << 7)
#define USED      (1u << 15)

/* 2.8.14 */
enum { EVENT_ENABLE = 0, EVENT_DISABLE = 1, EVENT_DESCRIPTOR = 2 };
#define EVENT_WRAP 0x8000u

static uint64_t entry(const struct queue *queue, unsigned position)
{
    return queue->descriptors + UINT64_C(16) * (position % queue->size);
}

static void advance(const struct queue *queue, uint16_t *position, bool *wrap, unsigned slots)
{
    *position = (uint16_t)(*position + slots);
    if (*position >= queue->size) {
        *position = (uint16_t)(*position - queue->size);
        *wrap = !*wrap;
    }
}

/* 2.8.1 */
static bool is_available(const struct descriptor *descriptor, bool wrap)
{
    return ((descriptor->flags & AVAILABLE) != 0) == wrap &&
           ((descriptor->flags & USED) != 0) != wrap;
}

/* 2.8.7: entries of the table in order, without NEXT or ids. */
static bool collect_table(struct chain *chain, const struct descriptor *head)
{
    for (uint32_t i = 0; i < head->bytes / 16; i++) {
        struct descriptor descriptor = {0};

        if (!memory_load(head->address + UINT64_C(16) * i, &descriptor, sizeof(descriptor)) ||
            !ring_collect(chain, descriptor.address, descriptor.bytes, descriptor.flags)) {
            return false;
        }
        HOSTILE_CHECK(!device_strict() || (descriptor.flags & ~RING_WRITE) == 0,
                      "only WRITE means something in an indirect table (2.8.19)");
    }
    return chain->count != 0;
}

static bool packed_pop(struct queue *queue, struct chain *chain)
{
    struct descriptor descriptor = {.flags = RING_NEXT};
    bool whole = true;
    uint16_t position = queue->next_available;
    bool wrap = queue->available_wrap;

    *chain = (struct chain){0};
    while ((descriptor.flags & RING_NEXT) != 0 && chain->slots < queue->size) {
        if (!memory_load(entry(queue, position), &descriptor, sizeof(descriptor)) ||
            !is_available(&descriptor, wrap)) {
            HOSTILE_CHECK(!device_strict() || chain->slots == 0,
                          "a chain made available before its last descriptor (2.8.21)");
            return false;
        }
        if ((descriptor.flags & RING_INDIRECT) != 0) {
            HOSTILE_CHECK(!device_strict() || device_features(VIRTIO_F_INDIRECT_DESC),
                          "indirect, not negotiated (2.8.19)");
            whole = collect_table(chain, &descriptor);
        } else {
            whole = ring_collect(chain, descriptor.address, descriptor.bytes, descriptor.flags) &&
                    whole;
        }
        chain->id = descriptor.id;
        chain->slots++;
        advance(queue, &position, &wrap, 1);
    }
    queue->next_available = position;
    queue->available_wrap = wrap;
    HOSTILE_CHECK(!device_strict() || whole, "a chain the device can't use");
    return whole;
}

static void packed_push(struct queue *queue, uint32_t id, uint32_t bytes, unsigned batch,
                        unsigned slots)
{
    struct descriptor descriptor = {0};
    uint64_t where = entry(queue, queue->next_used);

    (void)batch;
    (void)memory_load(where, &descriptor, sizeof(descriptor));
    descriptor.bytes = bytes;
    descriptor.id = (uint16_t)id;
    descriptor.flags =
        (uint16_t)((bytes != 0 ? RING_WRITE : 0) | (queue->used_wrap ? AVAILABLE | USED : 0));
    memory_store(where, &descriptor, sizeof(descriptor));
    advance(queue, &queue->next_used, &queue->used_wrap, slots);
}

/* 2.8.10 and its example code: has `event` been passed between `before` and now? */
static bool passed(const struct queue *queue, uint16_t event)
{
    unsigned size = queue->size;
    unsigned now = queue->next_used + (queue->used_wrap == queue->signalled_wrap ? 0 : size);
    unsigned at =
        (event & ~EVENT_WRAP) + (((event & EVENT_WRAP) != 0) == queue->signalled_wrap ? 0 : size);

    return at >= queue->signalled && at < now;
}

static bool packed_wants_interrupt(struct queue *queue)
{
    uint16_t event[2] = {0, 0}; /* descriptor and wrap, flags */
    bool moved = queue->signalled != queue->next_used || queue->signalled_wrap != queue->used_wrap;
    bool wanted = false;

    (void)memory_load(queue->driver_area, event, sizeof(event));
    HOSTILE_CHECK(!device_strict() || device_features(VIRTIO_F_EVENT_IDX) ||
                      (event[1] & 3u) != EVENT_DESCRIPTOR,
                  "event descriptor without EVENT_IDX (2.8.10)");
    if ((event[1] & 3u) == EVENT_ENABLE) {
        wanted = moved;
    } else if ((event[1] & 3u) == EVENT_DESCRIPTOR) {
        wanted = passed(queue, event[0]);
    }
    queue->signalled = queue->next_used;
    queue->signalled_wrap = queue->used_wrap;
    return wanted;
}

static void packed_ask(struct queue *queue, bool never)
{
    uint16_t event[2] = {0, EVENT_ENABLE};

    if (never) {
        event[1] = EVENT_DISABLE;
    } else if (device_features(VIRTIO_F_EVENT_IDX)) {
        event[0] = (uint16_t)(queue->next_available | (queue->available_wrap ? EVENT_WRAP : 0));
        event[1] = EVENT_DESCRIPTOR;
    }
    memory_store(queue->device_area, event, sizeof(event));
}

static void packed_lie(struct queue *queue, unsigned which, uint32_t value)
{
    struct descriptor descriptor = {0};
    uint64_t where = entry(queue, queue->next_used);

    (void)memory_load(where, &descriptor, sizeof(descriptor));
    switch (which % 4) {
    case 0: /* it goes on somewhere else */
        advance(queue, &queue->next_used, &queue->used_wrap, value % queue->size);
        break;
    case 1: /* a lap too few or too many */
        queue->used_wrap = !queue->used_wrap;
        break;
    case 2: /* what it never took is used, without another word */
        descriptor.flags = (uint16_t)(value | (queue->used_wrap ? AVAILABLE | USED : 0));
        memory_store(where, &descriptor, sizeof(descriptor));
        break;
    default:
        descriptor.flags = (uint16_t)value;
        memory_store(entry(queue, value >> 16), &descriptor, sizeof(descriptor));
    }
}

static uint32_t packed_area_bytes(const struct queue *queue, unsigned area)
{
    return area == 0 ? 16u * queue->size : 4u;
}

const struct ring_operations ring_packed = {
    .pop = packed_pop,
    .push = packed_push,
    .wants_interrupt = packed_wants_interrupt,
    .ask = packed_ask,
    .lie = packed_lie,
    .area_bytes = packed_area_bytes,
};
