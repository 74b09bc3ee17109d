/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The runnable threads, by urgency (sched/urgency.h), first-in first-out among equals. The
 * background has a list for each priority; each other level has one list in the order of priority.
 * Every operation is O(1), except that an insertion into a list of a VCPU's level passes those
 * threads of this VCPU that are more or less urgent.
 *
 * The running thread stays on the queue, in front of its equals, and stays there when it is
 * preempted, so that it continues before others of its urgency.
 *
 * Interrupts masked in every call.
 */
#ifndef SCHED_RUN_QUEUE_H
#define SCHED_RUN_QUEUE_H

#include "kernel/list.h"
#include "sched/urgency.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct thread;

struct run_queue {
    uint64_t levels;     /* bit n: level n has a thread */
    uint64_t priorities; /* bit n: priority n of the background has a thread */
    size_t count;
    struct list level[URGENCY_LEVELS]; /* level[URGENCY_BACKGROUND] is not used */
    struct list background[THREAD_PRIORITY_COUNT];
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

/* Returns the number of threads on the queue. */
size_t run_queue_count(const struct run_queue *queue);

#endif
