/* SPDX-License-Identifier: BSD-2-Clause */
/* The kernel's state of one core. core.c defines it; no other state is per core. */
#ifndef SCHED_CORE_H
#define SCHED_CORE_H

#include "kernel/list.h"
#include "sched/run_queue.h"
#include "time/timer_queue.h"
#include <stdbool.h>
#include <stdint.h>

struct core {
    struct thread *current; /* NULL until scheduler_start() */
    struct thread *idle;
    struct run_queue run_queue;
    bool reschedule;           /* the running thread may no longer be the most urgent */
    unsigned interrupt_depth;  /* nesting of interrupt handlers */
    unsigned preemption_depth; /* nesting of scheduler_preemption_disable() */
    struct timer_queue timers;

    struct list threads;  /* all threads, in order of their numbers */
    struct list finished; /* detached threads that have ended and are not yet freed; queue_node */
    uint64_t next_thread_number;

    uint64_t accounted_until; /* counter value up to which time has been charged */
    uint64_t interrupt_ticks; /* time in handlers, which is charged to no thread */
    uint64_t interrupts;
    uint64_t context_switches;
};

/* The running core. The address never changes (one core), so calls may be merged. */
struct core *core_this(void) __attribute__((const));

/* Sets up a core without threads and timers. Boot. */
void core_init(void);

/* Charges the time since the last call to `*ticks` (a thread's, or interrupt_ticks). Interrupts
 * masked. */
void core_charge(struct core *core, uint64_t *ticks);

#endif
