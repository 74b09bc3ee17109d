/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Threads: preemptive, with fixed priorities, first-in first-out among equals. A thread runs until
 * it blocks, yields or a more urgent thread becomes ready. A thread on a VCPU that has budget
 * (kernel/vcpu.h) is more urgent than every thread without.
 *
 * The scheduling policy is a module of its own (sched/policy.h). It can be replaced without a
 * change to threads, synchronisation or interrupts.
 */
#ifndef KERNEL_THREAD_H
#define KERNEL_THREAD_H

#include "kernel/result.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* A larger number is more urgent. Only the idle thread has priority 0. */
#define THREAD_PRIORITY_IDLE    0u
#define THREAD_PRIORITY_LOWEST  1u
#define THREAD_PRIORITY_HIGHEST 63u
#define THREAD_PRIORITY_COUNT   64u
#define THREAD_NAME_BYTES       16u

struct thread; /* opaque: sched/thread_private.h */

struct thread_attributes {
    const char *name;    /* copied, cut to THREAD_NAME_BYTES - 1 characters */
    unsigned priority;   /* THREAD_PRIORITY_LOWEST .. THREAD_PRIORITY_HIGHEST */
    size_t stack_bytes;  /* rounded up to pages; a guard page below is added; > 0; 528 bytes of it
                          * hold the FP and SIMD registers while the thread does not run */
    bool floating_point; /* saves and restores the FP and SIMD registers from the thread's start; if
                          * false, from its first use of one on, which takes an exception */
};

enum thread_state { THREAD_READY, THREAD_RUNNING, THREAD_BLOCKED, THREAD_FINISHED };

/*
 * Creates a thread and makes it ready. The kernel owns the storage until thread_join() has returned
 * RESULT_OK or, for a detached thread, until it ends. Thread context.
 * RESULT_INVALID, RESULT_NO_MEMORY.
 */
enum result thread_create(struct thread **thread, const struct thread_attributes *attributes,
                          void (*entry)(void *argument), void *argument);

/* Ends the calling thread; returning from its entry function is the same. Panics if the thread has
 * a mutex locked or is inside a critical section (interrupts_save()). Thread context. */
_Noreturn void thread_exit(void);

/* Waits until the thread has ended and frees it. One joiner only. Thread context; panics if it
 * would block inside a critical section (interrupts_save()). RESULT_TIMED_OUT, RESULT_INVALID
 * (self, or detached), RESULT_BUSY (a second joiner). */
enum result thread_join(struct thread *thread, uint64_t deadline);

/* Gives up the right to join: the thread's storage is freed when it ends, and later joins are
 * refused. A thread_join() that already waits continues to wait, and frees the thread if the
 * thread ends before its deadline. Detaching twice is harmless. Any context; the thread must not
 * have been freed. */
void thread_detach(struct thread *thread);

/* Returns the running thread (in a handler: the interrupted one), NULL before the first. Any
 * context. */
struct thread *thread_current(void);
/* Returns the thread's name, "boot" for NULL. */
const char *thread_name(const struct thread *thread);

/* Returns the base priority. Priority inheritance may raise the effective one. */
unsigned thread_priority(const struct thread *thread);
/* Sets the base priority. Returns RESULT_INVALID if `priority` is not in THREAD_PRIORITY_LOWEST ..
 * THREAD_PRIORITY_HIGHEST, or for the idle thread. Any context. */
enum result thread_set_priority(struct thread *thread, unsigned priority);

/* Moves the caller behind the ready threads of its priority. Thread context. */
void thread_yield(void);

/*
 * Returns true if no thread but the caller is ready to run, the idle thread not counted. A caller
 * that uses this to poll a device instead of sleeping calls it again every few microseconds,
 * whatever its priority. Thread context.
 */
bool thread_is_alone(void);

/* Blocks until `deadline` (kernel/time.h). DEADLINE_POLL returns at once. Thread context; panics
 * inside a critical section (interrupts_save()) unless `deadline` is DEADLINE_POLL. */
void thread_sleep_until(uint64_t deadline);

struct thread_statistics {
    char name[THREAD_NAME_BYTES];
    enum thread_state state;
    unsigned base_priority;
    unsigned effective_priority;
    uint64_t run_nanoseconds; /* processor time used */
    uint64_t switches;        /* number of switches to the thread */
    uint64_t deadline_misses; /* of its periodic work (kernel/periodic.h) */
    size_t stack_bytes;
    size_t stack_used_bytes; /* high-water mark */
};

/*
 * Writes the statistics of up to `capacity` threads to `statistics`. A thread that is freed
 * meanwhile may be omitted. Returns the number of threads written or, if there are more than
 * `capacity`, the number of threads. Thread context. No thread is kept from running for more than a
 * few hundred instructions (and the walk along the list of threads) at a time.
 */
size_t thread_statistics(struct thread_statistics *statistics, size_t capacity);

struct scheduler_statistics {
    uint64_t context_switches;
    uint64_t interrupts;
    uint64_t idle_nanoseconds;
};

void scheduler_statistics(struct scheduler_statistics *statistics);

#endif
