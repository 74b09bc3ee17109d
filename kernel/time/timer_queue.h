/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Timers in order of deadline: a binary heap, linked by pointers inside the timers, so that it
 * needs no further memory. The tree is complete, so its height is logarithmic in the number of
 * timers in the worst case too. Timers with equal deadlines are returned in the order in which they
 * were inserted.
 *
 * Insert, remove and pop are O(log n); finding the earliest is O(1). Interrupts masked in every
 * call.
 */
#ifndef TIME_TIMER_QUEUE_H
#define TIME_TIMER_QUEUE_H

#include "kernel/time.h"
#include <stddef.h>
#include <stdint.h>

struct timer_queue {
    struct timer *root; /* the earliest; NULL if empty */
    size_t count;
    uint64_t next_sequence;
    /* Counter value at which the wait ended of the thread that is woken; UINT64_MAX: none is, or by
     * another timer. Such a timer may be armed for the past, when the thread had no work. */
    uint64_t wait_ended_at;
};

void timer_queue_init(struct timer_queue *queue);

/* Inserts a timer that is not armed. Its deadline is set. */
void timer_queue_insert(struct timer_queue *queue, struct timer *timer);

/* Removes a timer that is armed in this queue. */
void timer_queue_remove(struct timer_queue *queue, struct timer *timer);

/* Removes and returns the earliest timer, if its deadline is <= `now` and it was inserted before
 * `sequence_end` (an earlier value of next_sequence). Returns NULL otherwise. */
struct timer *timer_queue_pop_due(struct timer_queue *queue, uint64_t now, uint64_t sequence_end);

#endif
