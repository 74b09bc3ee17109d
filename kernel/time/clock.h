/* SPDX-License-Identifier: BSD-2-Clause */
/* The kernel's clock: the calls of boot code and of the timer's interrupt handler. */
#ifndef TIME_CLOCK_H
#define TIME_CLOCK_H

#include <stdint.h>

/* Sets the zero of time_now(): counter value `start`, the counter when the first instruction ran.
 * Boot, before the first call that needs the time. */
void clock_init(uint64_t start);

/*
 * The handler of the alarm that arch_clock_alarm() set: runs the callbacks of the timers that are
 * due and were armed before it began (each once, so it ends), and sets the alarm to the earliest
 * left. May be called early or without cause: it then only sets the alarm again. Interrupt context,
 * interrupts masked.
 */
void time_alarm(void);

/* Converts a number of counter ticks to nanoseconds, rounded down. */
uint64_t clock_nanoseconds(uint64_t ticks);

/* Returns the counter value at which time_now() reaches `deadline`, saturated at UINT64_MAX. */
uint64_t clock_alarm_ticks(uint64_t deadline);

#endif
