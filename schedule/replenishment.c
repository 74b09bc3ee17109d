/* SPDX-License-Identifier: BSD-2-Clause */
#include "schedule/replenishment.h"

_Static_assert((REPLENISHMENT_CAPACITY_MAX & (REPLENISHMENT_CAPACITY_MAX - 1)) == 0,
               "positions in the ring without division");

static unsigned slot_of(const struct replenishment_queue *queue, unsigned position)
{
    return (queue->first + position) % REPLENISHMENT_CAPACITY_MAX;
}

static struct replenishment *entry_at(struct replenishment_queue *queue, unsigned position)
{
    return &queue->slot[slot_of(queue, position)];
}

static uint64_t end_of(const struct replenishment *entry)
{
    return entry->time + entry->amount;
}

enum schedule_error replenishment_queue_init(struct replenishment_queue *queue, unsigned capacity)
{
    if (capacity < REPLENISHMENT_CAPACITY_MIN || capacity > REPLENISHMENT_CAPACITY_MAX) {
        return SCHEDULE_CAPACITY_OUT_OF_RANGE;
    }
    *queue = (struct replenishment_queue){.capacity = (uint8_t)capacity, .smallest = 1};
    return SCHEDULE_OK;
}

void replenishment_queue_clear(struct replenishment_queue *queue)
{
    queue->first = 0;
    queue->count = 0;
}

bool replenishment_queue_is_full(const struct replenishment_queue *queue)
{
    return queue->count == queue->capacity;
}

const struct replenishment *replenishment_queue_at(const struct replenishment_queue *queue,
                                                   unsigned position)
{
    return &queue->slot[slot_of(queue, position)];
}

struct replenishment *replenishment_queue_head(struct replenishment_queue *queue)
{
    return entry_at(queue, 0);
}

struct replenishment replenishment_queue_pop(struct replenishment_queue *queue)
{
    struct replenishment head = *entry_at(queue, 0);

    queue->first = (uint8_t)slot_of(queue, 1);
    queue->count--;
    return head;
}

/* Merges an entry into the last one of a queue that is not empty. */
static void extend_last(struct replenishment *last, uint64_t time, uint64_t amount)
{
    if (end_of(last) < time) {
        last->time = time - last->amount;
    }
    last->amount += amount;
}

static bool is_too_small(const struct replenishment_queue *queue, const struct replenishment *last)
{
    return queue->count > 1 && last->amount < queue->smallest;
}

void replenishment_queue_append(struct replenishment_queue *queue, uint64_t time, uint64_t amount)
{
    if (queue->count > 0) {
        struct replenishment *last = entry_at(queue, queue->count - 1u);

        if (end_of(last) >= time || replenishment_queue_is_full(queue) ||
            is_too_small(queue, last)) {
            extend_last(last, time, amount);
            return;
        }
    }
    *entry_at(queue, queue->count) = (struct replenishment){time, amount};
    queue->count++;
}

void replenishment_queue_requeue_head(struct replenishment_queue *queue, uint64_t ticks)
{
    struct replenishment head;

    if (queue->count == 1) {
        entry_at(queue, 0)->time += ticks;
        return;
    }
    head = replenishment_queue_pop(queue);
    replenishment_queue_append(queue, head.time + ticks, head.amount);
}

void replenishment_queue_delay(struct replenishment_queue *queue, uint64_t ticks)
{
    for (unsigned i = 0; i < queue->count; i++) {
        entry_at(queue, i)->time += ticks;
    }
}

void replenishment_queue_merge_head(struct replenishment_queue *queue)
{
    while (queue->count > 1 && entry_at(queue, 1)->time <= end_of(entry_at(queue, 0))) {
        struct replenishment head = replenishment_queue_pop(queue);
        struct replenishment *next = entry_at(queue, 0);

        next->time = head.time;
        next->amount += head.amount;
    }
}

void replenishment_queue_postpone_head(struct replenishment_queue *queue)
{
    struct replenishment head = replenishment_queue_pop(queue);

    entry_at(queue, 0)->amount += head.amount;
    replenishment_queue_merge_head(queue);
}
