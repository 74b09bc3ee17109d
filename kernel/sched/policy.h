/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The scheduling policy: which of the runnable threads runs, and until when. This header is the
 * whole interface between the policy and the rest of the kernel. The mechanism (scheduler.c), the
 * synchronisation objects and the interrupts do not know which policy is linked.
 *
 * `now` is a counter value (arch_clock_ticks()), which the caller reads once for a decision. It
 * never goes back. All amounts of time are counter ticks. Interrupts masked in every call.
 *
 * A thread's urgency is a number below RUN_QUEUE_LEVELS; a larger one is more urgent.
 */
#ifndef SCHED_POLICY_H
#define SCHED_POLICY_H

#include "sched/run_queue.h"
#include <stdbool.h>
#include <stdint.h>

#define POLICY_NEVER UINT64_MAX

/* The policy's state of one core. */
struct policy {
    struct run_queue run_queue; /* the runnable threads, the running one among them */
};

/* The policy's state of one thread. The rest of the kernel reads `urgency` alone. */
struct standing {
    unsigned priority; /* the thread's own */
    unsigned urgency;  /* >= `priority`, raised by the waiters for the mutexes that it holds */
};

void policy_init(struct policy *policy);

/* Sets up the standing of a new thread, which is not runnable yet. */
void policy_admit(struct thread *thread, unsigned priority);

/* A thread becomes runnable: it was created, or its wait ended. It goes behind the runnable threads
 * of its urgency. Returns true if policy_choose() or policy_next_decision() may now answer
 * otherwise than before. `running` is NULL until the first thread runs. */
bool policy_unblock(struct policy *policy, struct thread *thread, const struct thread *running,
                    uint64_t now);

/* A runnable thread blocks or ends. Its time until `now` has been charged. */
void policy_block(struct policy *policy, struct thread *thread, uint64_t now);

/* The running thread used the processor for `ticks` until `now`. */
void policy_charge(struct policy *policy, struct thread *thread, uint64_t ticks, uint64_t now);

/* Interrupt handlers used the processor for `ticks` until `now`. `thread` is the first thread that
 * they woke, for whose sake the time was spent; NULL if they woke none. */
void policy_charge_interrupt(struct policy *policy, struct thread *thread, uint64_t ticks,
                             uint64_t now);

/* Returns the thread to run now. The idle thread is always runnable. */
struct thread *policy_choose(struct policy *policy, uint64_t now);

/* Returns the counter value at which policy_choose() must be called again although no thread blocks
 * or becomes runnable: the end of the budget of `running`, or a replenishment. POLICY_NEVER: none.
 */
uint64_t policy_next_decision(const struct policy *policy, const struct thread *running,
                              uint64_t now);

/* Moves a thread that runs behind the other runnable threads of its urgency. */
void policy_yield(struct policy *policy, struct thread *thread, uint64_t now);

/* Returns the thread's own priority. */
unsigned policy_priority(const struct thread *thread);

/* Gives the thread another priority of its own, which counts from the next policy_lend() on. */
void policy_set_priority(struct thread *thread, unsigned priority);

/* Returns how urgent the thread is without what waiters lend it. */
unsigned policy_own_urgency(const struct thread *thread);

/*
 * A waiter for a mutex lends the thread, which holds the mutex, its urgency; NULL: the thread has
 * its own urgency again. A runnable thread that becomes more urgent goes behind the others of its
 * new urgency; one that becomes less urgent goes in front of them, because it did not yield (POSIX,
 * pthread_setschedprio).
 */
void policy_lend(struct policy *policy, struct thread *thread, const struct thread *waiter,
                 uint64_t now);

/* Returns true if no other thread is runnable, the idle thread not counted. */
bool policy_is_alone(const struct policy *policy, const struct thread *running);

#endif
