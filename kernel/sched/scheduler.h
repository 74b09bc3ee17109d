/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Scheduling mechanism, for the rest of the kernel: starting, blocking, waking, and keeping a
 * thread from being preempted.
 *
 * A wake-up inside a critical section (kernel/interrupt.h) only sets a flag if the woken thread is
 * more urgent. The switch happens at the end of the outermost section or, in an interrupt, after
 * the outermost handler (interrupt/scheduler_hooks.h).
 */
#ifndef SCHED_SCHEDULER_H
#define SCHED_SCHEDULER_H

#include "kernel/interrupt.h"
#include "kernel/result.h"
#include "kernel/sync.h"
#include "kernel/thread.h"
#include <stdint.h>

struct vcpu;

/* Sets up the core's state, without threads. Boot, before the first thread or timer; interrupts
 * masked. */
void scheduler_init(void);

/* Creates the idle thread and starts the most urgent thread. The boot stack is not used any more.
 * Boot, after the first thread was created; interrupts masked. */
_Noreturn void scheduler_start(void);

/*
 * Blocks the calling thread on `queue` (may be NULL) until scheduler_wake() or the deadline.
 * Returns the waker's result, or RESULT_TIMED_OUT. If the caller has set its wait.mutex, the owner
 * of that mutex inherits its urgency while it waits. With DEADLINE_POLL returns RESULT_TIMED_OUT
 * at once, in any context. Otherwise thread context, interrupts masked by the caller's
 * interrupts_save(), which returned `state`. Panics if interrupts were masked before that call,
 * because the thread would give up the processor inside a critical section. Panics in interrupts
 * and while preemption is disabled.
 */
enum result scheduler_block(struct wait_queue *queue, uint64_t deadline, interrupt_state state);

/* Ends the wait of a blocked thread with `result`: takes it off its queue, disarms its timer, makes
 * it ready. A later time-out or post does not find it. Any context, interrupts masked. */
void scheduler_wake(struct thread *thread, enum result result);

/* Makes a new thread, or one that has been taken off its wait queue, runnable. Any context,
 * interrupts masked. */
void scheduler_make_ready(struct thread *thread);

/* Switches to the most urgent thread, if that is not the caller. Thread context, interrupts masked.
 */
void scheduler_switch(void);

/* Switches from the calling thread, which has blocked or ended at `now`. `payer`: its
 * thread_payer() before that. Thread context, interrupts masked. */
void scheduler_leave(struct vcpu *payer, uint64_t now);

/* Moves the calling thread behind the others of its urgency and switches, unless `state`, which
 * interrupts_save() returned, or scheduler_preemption_disable() forbids a switch: then it follows
 * later. Thread context, interrupts masked. */
void scheduler_yield(interrupt_state state);

/*
 * Prevents preemption of the calling thread while interrupts stay enabled: for long work on data
 * that only threads use (page and heap allocation). Sections nest. A call that blocks inside
 * panics. Thread context or boot.
 */
void scheduler_preemption_disable(void);
void scheduler_preemption_enable(void);

/*
 * Computes the thread's urgency again: the maximum of its own and that of the waiters for the
 * mutexes that it holds. Moves it within the queue that it is on. If it waits for a mutex, does the
 * same for the owner of that mutex, and so on (inheritance.c). The running thread has been charged
 * until `now` (core_charge()). Interrupts masked.
 */
void scheduler_update_urgency(struct thread *thread, uint64_t now);

#endif
