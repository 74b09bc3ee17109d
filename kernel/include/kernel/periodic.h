/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Periodic threads. A thread is released at `first`, `first` + `period`, `first` + 2 * `period` and
 * so on, does the job of that release, and waits for the next:
 *
 *   static struct periodic periodic;
 *   const struct periodic_attributes attributes = {.period = 10 * NANOSECONDS_PER_MILLISECOND};
 *
 *   periodic_start(&periodic, &attributes);
 *   for (;;) {
 *       periodic_wait(&periodic);
 *       (the job)
 *   }
 *
 * A job is complete when the thread calls periodic_wait() or periodic_stop(), or ends. It has
 * missed its deadline if it is not complete at the time of its release + `deadline`.
 *
 * All times are in nanoseconds.
 */
#ifndef KERNEL_PERIODIC_H
#define KERNEL_PERIODIC_H

#include "kernel/result.h"
#include "kernel/time.h"
#include <stdbool.h>
#include <stdint.h>

struct thread;
struct periodic;

/* The treatment of releases that passed while the thread was busy with an earlier job, or did not
 * get the processor. */
enum periodic_catch_up {
    /* The default: the thread does one job, that of the latest release. The earlier releases are
     * counted in `skipped`. */
    PERIODIC_SKIP_MISSED,
    /* The thread does the job of each release, in order and without a pause until it has caught
     * up. For jobs that count time. */
    PERIODIC_RUN_EACH
};

struct periodic_attributes {
    uint64_t period;   /* > 0 */
    uint64_t first;    /* time of the first release, since boot; 0: one period after the start */
    uint64_t deadline; /* > 0, after the release; 0: the period. May be longer than the period. */
    enum periodic_catch_up catch_up;
    /*
     * Called when a deadline has been missed, or NULL. It is called at the deadline, while the job
     * still runs or has not even begun, and therefore also if the thread never completes its job
     * and never gets the processor. A thread that makes no progress misses the deadline of each
     * further release, and the hook is called for each.
     *
     * The hook runs with interrupts masked, in interrupt context: it may do what the callback of a
     * timer may do (kernel/time.h). If interrupts are masked at the deadline, the call is late. If
     * several deadlines pass meanwhile, there is one call for all of them, and `misses` of the
     * statistics has been raised by their number. If the thread completes the job before they are
     * unmasked, the thread makes the call, also with interrupts masked.
     */
    void (*missed)(struct periodic *periodic, void *argument);
    void *argument;
};

/* Counters since periodic_start(). With `deadline` <= `period`, each skipped release is also a
 * miss. */
struct periodic_statistics {
    uint64_t releases;       /* up to now, or to the end of the periodic thread */
    uint64_t completions;    /* jobs completed, in time or late */
    uint64_t misses;         /* deadlines that passed before their job was complete */
    uint64_t skipped;        /* releases without a job (PERIODIC_SKIP_MISSED) */
    uint64_t worst_response; /* longest time from the release of a job to its completion */
    uint64_t worst_lateness; /* longest time from the release of a job to its begin */
};

/* The owner embeds it; it must stay valid until periodic_stop() or the thread's end. Private:
 * periodic_statistics() reads the counters. */
struct periodic {
    struct thread *thread; /* NULL: stopped */
    struct periodic_attributes attributes;
    struct timer watch;      /* armed for `next_deadline` */
    uint64_t release;        /* of the job that runs or, while the thread waits, of the next */
    uint64_t next_deadline;  /* the earliest deadline that can still be missed */
    bool job_runs;           /* false: the thread waits for `release` */
    uint64_t worst_response; /* the counters, as in the statistics */
    uint64_t worst_lateness;
    uint64_t completions;
    uint64_t misses;
    uint64_t skipped;
    uint64_t releases; /* valid when stopped */
};

/* Makes the calling thread periodic. The deadline of the first release is watched from now on.
 * Returns RESULT_OK, RESULT_INVALID (a period of 0), or RESULT_BUSY (the thread is periodic
 * already). Thread context. */
enum result periodic_start(struct periodic *periodic, const struct periodic_attributes *attributes);

/* Completes the job, unless this is the first call, and sleeps until the next release, or returns
 * at once if that has passed. Returns the time of the release whose job begins. Only the periodic
 * thread may call it; otherwise it panics. Thread context; panics if it would block inside a
 * critical section (interrupts_save()). */
uint64_t periodic_wait(struct periodic *periodic);

/* Completes the job, if one runs, and ends the releases. The thread continues as an ordinary one.
 * The end of the thread does the same. To be called by the periodic thread only (else panic).
 * Thread context. */
void periodic_stop(struct periodic *periodic);

/* Reads the counters. The misses of all periodic work of a thread are in thread_statistics(). Any
 * context. */
void periodic_statistics(const struct periodic *periodic, struct periodic_statistics *statistics);

#endif
