/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Scheduling mechanism, for the rest of the kernel: starting, blocking, waking, and keeping a
 * thread from being preempted.
 *
 * A critical section is interrupts_save() .. interrupts_restore() (kernel/interrupt.h). A wake-up
 * inside it only notes that a more urgent thread is there; the switch happens when the outermost
 * section ends, or, in an interrupt, when the outermost handler has returned (interrupt_hooks.h).
 */
#ifndef SCHED_SCHEDULER_H
#define SCHED_SCHEDULER_H

#include "kernel/interrupt.h"
#include "kernel/result.h"
#include "kernel/sync.h"
#include "kernel/thread.h"
#include <stdint.h>

/* Boot, before the first thread or timer: forgets every thread. Interrupts masked. */
void scheduler_init(void);

/* Boot: creates the idle thread and starts the most urgent thread; the boot stack is given up.
 * At least one thread should have been created. Interrupts masked. */
_Noreturn void scheduler_start(void);

/*
 * Blocks the calling thread until scheduler_wake() or the deadline; in between others run. `queue`
 * (may be NULL) is where the waker looks for it. Returns the waker's result, or RESULT_TIMED_OUT.
 * If the caller has set its wait.mutex, that mutex's owner inherits its priority for as long as it
 * waits. With DEADLINE_POLL returns RESULT_TIMED_OUT at once, in any context. Otherwise thread
 * context, interrupts masked by the caller's interrupts_save(), which returned `state`. Panics if
 * interrupts were masked before that call: the thread would give up the processor inside somebody's
 * critical section. Panics in interrupts and while preemption is disabled.
 */
enum result scheduler_block(struct wait_queue *queue, uint64_t deadline, interrupt_state state);

/* Ends the wait of a blocked thread with `result`: off its queue, timer disarmed, ready. Whoever
 * ends the wait first wins; a later time-out or post finds the thread gone. Interrupts masked,
 * any context. */
void scheduler_wake(struct thread *thread, enum result result);

/* Gives the processor to the most urgent thread if that is not the caller. Thread context,
 * interrupts masked. */
void scheduler_switch(void);

/*
 * Keeps the calling thread on the processor while interrupts stay enabled: for work on data that
 * only threads touch and that is too long to mask interrupts (page and heap allocation). Nests;
 * must not block inside. Thread context or boot.
 */
void scheduler_preemption_disable(void);
void scheduler_preemption_enable(void);

/*
 * Works out the thread's effective priority anew (its base, or its most urgent waiter's on any
 * mutex it holds), moves it in the queue it is on, and, if it waits for a mutex itself, goes on
 * with that one's owner. Interrupts masked.
 */
void scheduler_update_priority(struct thread *thread);

#endif
