/* SPDX-License-Identifier: BSD-2-Clause */
/* The hardware's alarm: for the core's earliest timer, or for the next decision of the scheduling
 * policy, whichever comes first. Interrupts masked in every call. */
#ifndef SCHED_ALARM_H
#define SCHED_ALARM_H

struct core;

/* Sets the hardware's alarm from the times in sched/core.h. */
void alarm_set(const struct core *core);

/*
 * The handler of the alarm that arch_clock_alarm() has set. Calls the callbacks of the timers that
 * are due and were armed before this call, each once, so that it ends. Lets the scheduling policy
 * decide again if the time for that has come. Then sets the alarm again. A call without a due timer
 * or decision only sets the alarm again. Interrupt context.
 */
void alarm_expired(void);

#endif
