/* SPDX-License-Identifier: BSD-2-Clause */
/* The kernel's clock and the hardware alarm: what boot code and the clock's interrupt call. */
#ifndef TIME_CLOCK_H
#define TIME_CLOCK_H

#include <stdint.h>

/* Boot, before anything asks for the time. Nanoseconds count from counter value `start` (the
 * counter when the first instruction ran). */
void clock_init(uint64_t start);

/*
 * The handler of the alarm that arch_clock_alarm() set: runs the callbacks of the timers that are
 * due and were armed before it began (each once, so it ends), and sets the alarm to the earliest
 * left. May be called early or without cause: it then only sets the alarm again. Interrupt context,
 * interrupts masked.
 */
void time_alarm(void);

/* A span of counter ticks in nanoseconds, rounded down. */
uint64_t clock_nanoseconds(uint64_t ticks);

/* The counter value, saturated, at which time_now() reaches `deadline`. */
uint64_t clock_alarm_ticks(uint64_t deadline);

#endif
