/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Threads blocked on an object, most urgent first, first-in first-out among equals.
 *
 * The queue has two lists: all waiters, and the first waiter of each urgency. An insertion walks
 * the second one only, so that it takes one step for each urgency among the waiters, however many
 * threads wait; every other call takes constant time. Interrupts masked in every call.
 */
#ifndef SCHED_WAIT_QUEUE_H
#define SCHED_WAIT_QUEUE_H

#include "kernel/sync.h"
#include "kernel/thread.h"

/* Sets up an empty queue. `kind` is the reason of the waits, for the trace. */
void wait_queue_init(struct wait_queue *queue, enum wait_kind kind);

/* Inserts a thread, which is on no queue, behind every waiter that is at least as urgent. */
void wait_queue_insert(struct wait_queue *queue, struct thread *thread);

/* Removes a thread, which is on this queue and has the urgency that it was inserted
 * with. */
void wait_queue_remove(struct wait_queue *queue, struct thread *thread);

/* Returns the most urgent waiter, the longest waiting among equals; NULL if there is none. */
struct thread *wait_queue_first(const struct wait_queue *queue);

/* Returns the waiter behind `thread`, which is on this queue; NULL if it is the last. */
struct thread *wait_queue_next(const struct wait_queue *queue, const struct thread *thread);

#endif
