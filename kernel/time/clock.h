/* SPDX-License-Identifier: BSD-2-Clause */
/* The kernel's clock: the calls of boot code and of the timer's interrupt handler. */
#ifndef TIME_CLOCK_H
#define TIME_CLOCK_H

#include <stdint.h>

struct core;

/* Sets the counter value at which time_now() is 0: `start`, the value at the first instruction.
 * Boot, before the first call that needs the time. */
void clock_init(uint64_t start);

/*
 * The handler of the alarm that arch_clock_alarm() has set. Calls the callbacks of the timers that
 * are due and were armed before this call, each once, so that it ends. Lets the scheduling policy
 * decide again if the time for that has come. Then sets the alarm again. A call without a due timer
 * or decision only sets the alarm again. Interrupt context, interrupts masked.
 */
void time_alarm(void);

/* Sets the hardware's alarm to the core's earliest timer or its scheduling policy's next decision
 * (sched/core.h), whichever comes first. Interrupts masked. */
void time_set_alarm(const struct core *core);

/* Returns time_now() as it is, or was, at a counter value. */
uint64_t clock_time(uint64_t counter);

/* Converts a number of counter ticks to nanoseconds, rounded down. */
uint64_t clock_nanoseconds(uint64_t ticks);

/* Convert a duration in nanoseconds to counter ticks, rounded up or down, saturated at UINT64_MAX.
 */
uint64_t clock_ticks_up(uint64_t nanoseconds);
uint64_t clock_ticks_down(uint64_t nanoseconds);

/* Returns the counter value at which time_now() reaches `deadline`, saturated at UINT64_MAX. */
uint64_t clock_alarm_ticks(uint64_t deadline);

#endif
