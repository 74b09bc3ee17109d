/* SPDX-License-Identifier: BSD-2-Clause */
/* The thread "timers", which calls the callbacks of timers that timer_init_threaded() set up. */
#ifndef SCHED_TIMER_THREAD_H
#define SCHED_TIMER_THREAD_H

#include "kernel/list.h"
#include "kernel/sync.h"
#include "kernel/time.h"

/* The state of the thread "timers"; all zero until the thread is created. */
struct timer_thread {
    struct thread *thread;
    struct list expired;       /* timers with calls that are due, in the order of expiration */
    struct semaphore expiring; /* binary: a timer was added to `expired` */
    struct timer *running;     /* the timer whose callback runs; NULL: none */
    struct mutex calling;      /* held by the thread while `running` is set */
};

#endif
