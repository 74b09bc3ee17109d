/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The runnable threads, by urgency: a first-in first-out list for each urgency, and a bitmap of
 * those in use. Every operation is O(1). The running thread stays on the queue, at the head of its
 * list, and stays there when it is preempted, so that it continues before others of its urgency.
 *
 * Interrupts masked in every call.
 */
#ifndef SCHED_RUN_QUEUE_H
#define SCHED_RUN_QUEUE_H

#include "kernel/list.h"
#include "kernel/thread.h"
#include <stdbool.h>
#include <stdint.h>

/* Urgencies: 0 is the idle thread's. */
#define RUN_QUEUE_LEVELS 64u

struct run_queue {
    uint64_t levels; /* bit n: urgency n has a thread */
    struct list level[RUN_QUEUE_LEVELS];
};

void run_queue_init(struct run_queue *queue);

/* Inserts a thread behind those of its urgency. */
void run_queue_add(struct run_queue *queue, struct thread *thread);

/* Removes a thread. */
void run_queue_remove(struct run_queue *queue, struct thread *thread);

/* Returns the most urgent thread, which stays on the queue; NULL if the queue is empty. */
struct thread *run_queue_pick(const struct run_queue *queue);

/* Moves a thread behind the others of its urgency. */
void run_queue_yield(struct run_queue *queue, struct thread *thread);

/* Changes the urgency of a thread on the queue: behind the others of its new urgency if that is
 * higher, in front of them if it is lower. */
void run_queue_change_urgency(struct run_queue *queue, struct thread *thread, unsigned urgency);

/* Returns true if no other thread is on the queue, those of urgency 0 not counted. */
bool run_queue_is_alone(const struct run_queue *queue, const struct thread *running);

#endif
