/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counter ticks to nanoseconds and back, by whole seconds and a remainder:
 *
 *   floor(t * 10^9 / f) = (t / f) * 10^9 + floor((t % f) * 10^9 / f)
 *
 * is exact, because the first term is an integer. So the only error is that of one rounding: less
 * than one nanosecond (in the other direction, one tick), at any time after boot, and the result
 * never decreases. The products stay below 2^64 for every frequency up to 18.4 GHz and every time
 * up to 584 years. The conversion takes two divisions; an exact multiply-shift is no shorter here.
 */
#ifndef TIME_CLOCK_CONVERSION_H
#define TIME_CLOCK_CONVERSION_H

#include "kernel/time.h"
#include <stdint.h>

/* Converts ticks to nanoseconds, rounded down to a time that has been reached. `frequency` in Hz, 1
 * .. 18.4 * 10^9. */
static inline uint64_t clock_ticks_to_nanoseconds(uint64_t ticks, uint64_t frequency)
{
    uint64_t seconds = ticks / frequency;
    uint64_t remainder = ticks % frequency;

    return seconds * NANOSECONDS_PER_SECOND + remainder * NANOSECONDS_PER_SECOND / frequency;
}

/*
 * Returns the first tick at which clock_ticks_to_nanoseconds() is >= `nanoseconds`: rounded up, so
 * that an alarm at this tick is never early. Saturated at UINT64_MAX, which above 1 GHz is
 * centuries away.
 */
static inline uint64_t clock_nanoseconds_to_ticks(uint64_t nanoseconds, uint64_t frequency)
{
    uint64_t seconds = nanoseconds / NANOSECONDS_PER_SECOND;
    uint64_t remainder = nanoseconds % NANOSECONDS_PER_SECOND;
    uint64_t part = (remainder * frequency + (NANOSECONDS_PER_SECOND - 1)) / NANOSECONDS_PER_SECOND;
    uint64_t ticks;

    if (__builtin_mul_overflow(seconds, frequency, &ticks) ||
        __builtin_add_overflow(ticks, part, &ticks)) {
        return UINT64_MAX;
    }
    return ticks;
}

/* Returns the number of whole ticks in `nanoseconds`, rounded down; saturated as above. */
static inline uint64_t clock_nanoseconds_to_whole_ticks(uint64_t nanoseconds, uint64_t frequency)
{
    uint64_t seconds = nanoseconds / NANOSECONDS_PER_SECOND;
    uint64_t remainder = nanoseconds % NANOSECONDS_PER_SECOND;
    uint64_t part = remainder * frequency / NANOSECONDS_PER_SECOND;
    uint64_t ticks;

    if (__builtin_mul_overflow(seconds, frequency, &ticks) ||
        __builtin_add_overflow(ticks, part, &ticks)) {
        return UINT64_MAX;
    }
    return ticks;
}

#endif
