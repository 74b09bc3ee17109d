/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The timers of a core, for the scheduler. Timers depend on neither threads nor the rest of the
 * core's state: the functions at the end of this header are defined by the scheduler. Interrupts
 * masked in every call.
 */
#ifndef TIME_TIMER_H
#define TIME_TIMER_H

#include "kernel/time.h"
#include "time/timer_queue.h"
#include <stdint.h>

/* Returns the counter value at which the earliest timer is due; UINT64_MAX: no timer is armed. */
uint64_t timers_due_at(const struct timer_queue *timers);

/* Calls the callbacks of the timers that are due at `ticks`, a counter value that is not before
 * `due_at`, the value of timers_due_at(). Timers that a callback arms are not among them, so that
 * the call ends. Interrupt context. */
void timers_expire(struct timer_queue *timers, uint64_t due_at, uint64_t ticks);

/* Returns the timers of the running core. The address never changes (one core), so calls may be
 * merged. Defined in sched/core.c. */
struct timer_queue *timers_this(void) __attribute__((const));

/* The value of timers_due_at() of the running core may have changed, outside of timers_expire() or
 * in one of its callbacks. Sets the hardware's alarm. Defined in sched/alarm.c. */
void timers_first_changed(void);

/* Returns the id of the VCPU that pays for what the running thread does, 0 for none; in an
 * interrupt `current`. Defined in sched/interrupt_payer.c, as the next three. */
uint8_t timers_armer(uint8_t current);

/* Returns the time, in nanoseconds since boot, until which the expirations that this VCPU pays for
 * should wait, because it has no budget, and the interrupted thread has, or has disabled
 * preemption; or because it has had its few callbacks without budget already; 0: they need not
 * wait. If they have to wait, the VCPU pays for the interrupt. */
uint64_t timers_wait_for(uint8_t payer);

/* Another timer follows in the same interrupt. Whoever pays for the interrupt pays until now. */
void timers_next(void);

/* A callback has returned. If it woke no thread, `armer` pays for the interrupt. Returns the id of
 * the VCPU that pays; 0: none. */
uint8_t timers_pay(uint8_t armer);

/* Makes a call of a threaded timer due (timer_init_threaded()) that was to be made at `due`, in
 * nanoseconds since boot. Defined in sched/timer_thread.c. */
void timer_thread_add(struct timer *timer, uint64_t due);

#endif
