/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A bounded queue of replenishments in the order of time.
 *
 * A replenishment (time, amount) stands for `amount` ticks of execution. Because a processor
 * executes one tick at a time, the tick number k of it, from 0, can't be used before time + k. The
 * entries are disjoint: each ends, at time + amount, no later than the next one begins. So a queue
 * is a strictly rising list of times, one for each tick of the budget, and a change is safe exactly
 * if it makes none of these times earlier. Every operation here either keeps the list of times or
 * delays some of them. None loses an amount.
 *
 * The number of entries alone says which slots are in use: no value of time or amount is special.
 *
 * Sources: Stanovich et al., "Defects of the POSIX Sporadic Server and How to Correct Them" (2010);
 * the disjoint, ordered refills of seL4.
 */
#ifndef SCHEDULE_REPLENISHMENT_H
#define SCHEDULE_REPLENISHMENT_H

#include "schedule/ticks.h"
#include <stdbool.h>
#include <stdint.h>

#define REPLENISHMENT_CAPACITY_MIN 2u
#define REPLENISHMENT_CAPACITY_MAX 32u

struct replenishment {
    uint64_t time;
    uint64_t amount; /* number of ticks, at least 1 */
};

struct replenishment_queue {
    struct replenishment slot[REPLENISHMENT_CAPACITY_MAX]; /* the entries, in a ring */
    uint8_t capacity;                                      /* most entries that the queue holds */
    uint8_t first;                                         /* slot of the head */
    uint8_t count;                                         /* number of entries */
    /* Least number of ticks of an entry behind the head. A smaller entry is extended by the next
     * one. */
    uint64_t smallest;
};

/* Makes an empty queue whose smallest entry is 1 tick. Returns SCHEDULE_CAPACITY_OUT_OF_RANGE
 * unless `capacity` is REPLENISHMENT_CAPACITY_MIN .. REPLENISHMENT_CAPACITY_MAX. */
enum schedule_error replenishment_queue_init(struct replenishment_queue *queue, unsigned capacity);

/* Removes all entries. */
void replenishment_queue_clear(struct replenishment_queue *queue);

bool replenishment_queue_is_full(const struct replenishment_queue *queue);

/* Return the entry at a position, and the head. Position 0 is the head, the earliest entry.
 * `position`: less than `count`. */
const struct replenishment *replenishment_queue_at(const struct replenishment_queue *queue,
                                                   unsigned position);
struct replenishment *replenishment_queue_head(struct replenishment_queue *queue);

/* Removes and returns the head of a queue that is not empty. */
struct replenishment replenishment_queue_pop(struct replenishment_queue *queue);

/*
 * Appends an entry of `amount` ticks that begins at `time`, no earlier than the last one. An entry
 * that the last one reaches or overlaps extends it. If the queue is full, or the last entry is not
 * the head and smaller than `smallest`, the last entry is delayed until it reaches the new one and
 * extended by it. So all entries between the head and the last are of `smallest` ticks or more.
 */
void replenishment_queue_append(struct replenishment_queue *queue, uint64_t time, uint64_t amount);

/* Removes the head of a queue that is not empty, and appends it with a time that is later by
 * `ticks`. That time is not before the time of the last entry. */
void replenishment_queue_requeue_head(struct replenishment_queue *queue, uint64_t ticks);

/* Delays each entry by `ticks`. */
void replenishment_queue_delay(struct replenishment_queue *queue, uint64_t ticks);

/* Merges into the head each following entry that begins no later than the head ends. The head keeps
 * its time. */
void replenishment_queue_merge_head(struct replenishment_queue *queue);

/* Merges the head into the following entry, which keeps its time, and frees a slot: the rule for a
 * split without a free slot (Quest-V, 3.3, Figure 7 at t = 114). The queue has two entries or more.
 */
void replenishment_queue_postpone_head(struct replenishment_queue *queue);

#endif
