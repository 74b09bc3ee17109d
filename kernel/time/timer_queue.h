/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Timers in order of deadline: a binary heap of pointers inside the timers themselves. The tree is
 * complete, so that its height is the logarithm of the number of timers in the worst case too, and
 * needs no memory of its own. Equal deadlines come out in the order they went in.
 *
 * Insert, remove and pop are O(log n); the earliest is known in O(1). Interrupts masked in every
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
};

void timer_queue_init(struct timer_queue *queue);

/* `timer` is not armed; its deadline is set. */
void timer_queue_insert(struct timer_queue *queue, struct timer *timer);

/* `timer` is armed in this queue. */
void timer_queue_remove(struct timer_queue *queue, struct timer *timer);

/* Removes and returns the earliest timer, if its deadline is <= `now` and it was inserted before
 * `sequence_end` (an earlier value of next_sequence). Returns NULL otherwise. */
struct timer *timer_queue_pop_due(struct timer_queue *queue, uint64_t now, uint64_t sequence_end);

#endif
