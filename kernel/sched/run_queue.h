/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The scheduling policy: which of the runnable threads runs next. This header is the whole
 * interface between policy and mechanism (scheduler.c), so that a policy of budgeted VCPUs can
 * replace this module.
 *
 * Fixed priorities: one first-in first-out list for each priority, and a bitmap of the priorities
 * in use. Every operation is O(1). The running thread stays on the queue, at the head of its list,
 * and stays there when it is preempted, so that it continues before others of its priority.
 *
 * Interrupts masked in every call.
 */
#ifndef SCHED_RUN_QUEUE_H
#define SCHED_RUN_QUEUE_H

#include "kernel/list.h"
#include "kernel/thread.h"
#include <stdbool.h>
#include <stdint.h>

struct run_queue {
    uint64_t levels; /* bit n: priority n has a thread */
    struct list level[THREAD_PRIORITY_COUNT];
};

void run_queue_init(struct run_queue *queue);

/* Inserts a thread that became runnable, behind those of its priority. */
void run_queue_add(struct run_queue *queue, struct thread *thread);

/* Removes a thread that blocks or ends. */
void run_queue_remove(struct run_queue *queue, struct thread *thread);

/* Returns the most urgent thread, which stays on the queue; NULL if the queue is empty. */
struct thread *run_queue_pick(const struct run_queue *queue);

/* Moves a thread behind the others of its priority. */
void run_queue_yield(struct run_queue *queue, struct thread *thread);

/*
 * Changes the effective priority of a thread on the queue. A raised thread goes behind the others
 * of its new priority, a lowered one in front of them, because it did not yield (POSIX,
 * pthread_setschedprio).
 */
void run_queue_change_priority(struct run_queue *queue, struct thread *thread, unsigned priority);

/* Returns true if no other thread is runnable, those of THREAD_PRIORITY_IDLE not counted. */
bool run_queue_is_alone(const struct run_queue *queue, const struct thread *running);

/* Returns true if `candidate`, which became runnable, should preempt `running`. */
bool run_queue_preempts(const struct thread *candidate, const struct thread *running);

#endif
