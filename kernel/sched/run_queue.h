/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The scheduling policy: which of the runnable threads runs next. This is the whole interface
 * between policy and mechanism (scheduler.c); a policy of budgeted VCPUs takes the place of this
 * module.
 *
 * Fixed priorities: one first-in first-out list a level and a bitmap of the levels in use; every
 * operation is O(1). The running thread stays on the queue, at the head of its level: preempting it
 * leaves it there, so that it continues before its equals.
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
    uint64_t levels; /* bit n: level n has a thread */
    struct list level[THREAD_PRIORITY_COUNT];
};

void run_queue_init(struct run_queue *queue);

/* The thread became runnable: behind its equals. */
void run_queue_add(struct run_queue *queue, struct thread *thread);

/* The thread blocked or ended. */
void run_queue_remove(struct run_queue *queue, struct thread *thread);

/* The thread that should run now; it stays on the queue. NULL if the queue is empty. */
struct thread *run_queue_pick(const struct run_queue *queue);

/* The thread gives way to its equals: behind them. */
void run_queue_yield(struct run_queue *queue, struct thread *thread);

/*
 * Moves a thread on the queue to another effective priority: raised, it goes behind its new equals;
 * lowered, in front of them, because it did not ask to give way (POSIX pthread_setschedprio).
 */
void run_queue_change_priority(struct run_queue *queue, struct thread *thread, unsigned priority);

/* Whether no other thread is runnable, those of THREAD_PRIORITY_IDLE apart. */
bool run_queue_is_alone(const struct run_queue *queue, const struct thread *running);

/* Whether `candidate`, just made runnable, should take the processor from `running`. */
bool run_queue_preempts(const struct thread *candidate, const struct thread *running);

#endif
