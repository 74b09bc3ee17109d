/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The runnable threads. All of them are in the background: a list for each priority, first-in
 * first-out. The threads of a VCPU are also in its group, in the order of their priorities, and
 * first-in first-out among equals. A group with a level above the background comes first: of the
 * groups with threads the one of the highest level, and of equal levels the one whose first thread
 * has the highest priority.
 *
 * So a VCPU that gets budget, or has used it up, changes the level of its group, in a few
 * instructions, and no thread changes its place. Every operation is O(1), except that an insertion
 * into a group passes those of its threads that are more urgent, and that groups of one level, two
 * I/O VCPUs that serve the same one, pass each other.
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
#include <stddef.h>
#include <stdint.h>

struct thread;

struct run_queue_group {
    struct list threads;          /* by standing.group_node */
    struct run_queue_group *next; /* of the same level, while this one has a thread */
    unsigned level;               /* URGENCY_BACKGROUND: the threads are in the background alone */
};

struct run_queue {
    uint64_t levels;     /* bit n: a group on level n has a thread */
    uint64_t priorities; /* bit n: priority n of the background has a thread */
    size_t count;
    struct run_queue_group *level[URGENCY_LEVELS]; /* the first group; NULL: none has a thread */
    struct list background[THREAD_PRIORITY_COUNT];
};

void run_queue_init(struct run_queue *queue);

/* Makes an empty group in the background. */
void run_queue_group_init(struct run_queue_group *group);

/* Inserts a thread, into a group or into none (NULL), behind those of its urgency. */
void run_queue_add(struct run_queue *queue, struct run_queue_group *group, struct thread *thread);

/* Removes a thread of this group. */
void run_queue_remove(struct run_queue *queue, struct run_queue_group *group,
                      struct thread *thread);

/* Gives a group another level. */
void run_queue_set_level(struct run_queue *queue, struct run_queue_group *group, unsigned level);

/* Returns the most urgent thread, which stays on the queue; NULL if the queue is empty. */
struct thread *run_queue_pick(const struct run_queue *queue);

/* Moves a thread of this group behind the others of its urgency. */
void run_queue_yield(struct run_queue *queue, struct run_queue_group *group, struct thread *thread);

/* Changes the urgency of a thread on the queue, and moves it from one group to another, or the
 * same: behind the others of its new urgency if that is higher, in front of them if it is lower. */
void run_queue_move(struct run_queue *queue, struct thread *thread, struct run_queue_group *from,
                    struct run_queue_group *to, unsigned urgency);

/* Returns the number of threads on the queue. */
size_t run_queue_count(const struct run_queue *queue);

#endif
