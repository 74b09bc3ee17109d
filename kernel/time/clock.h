/* SPDX-License-Identifier: BSD-2-Clause */
/* The kernel's clock: its start, and conversions of counter values. */
#ifndef TIME_CLOCK_H
#define TIME_CLOCK_H

#include <stdint.h>

/* Sets the counter value at which time_now() is 0: `start`, the value at the first instruction.
 * Boot, before the first call that needs the time. */
void clock_init(uint64_t start);

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
