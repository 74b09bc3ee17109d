/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The time that a VCPU does not execute: all of it, and the part during which it had work. Pure
 * logic; all times are ticks of CNTPCT_EL0.
 *
 * A VCPU executes while it is charged. So its absence is the time that it was not charged, and its
 * virtual time is exactly what it was charged, at any instant.
 */
#ifndef STOLEN_TIME_TIMES_H
#define STOLEN_TIME_TIMES_H

#include <arch/vcpu_times.h>
#include <stdint.h>

#define TIMES_NANOSECONDS 1000000000u

__extension__ typedef unsigned __int128 times_product;

struct times {
    struct vcpu_times *shown; /* to the guest */
    uint64_t factor;          /* nanoseconds of 2^32 ticks */
    /* During which it had no work. While it has none: less the time at which it ended. */
    uint64_t idle;
};

/* `frequency`: of CNTPCT_EL0, in Hz. The VCPU has no work. */
static inline void times_init(struct times *times, struct vcpu_times *shown, uint64_t frequency)
{
    times->factor = ((uint64_t)TIMES_NANOSECONDS << 32) / frequency;
    times->shown = shown;
    times->idle = 0;
}

/* The VCPU has no work from now on, or has work again. */
static inline void times_block(struct times *times, uint64_t now)
{
    times->idle -= now;
}

static inline void times_unblock(struct times *times, uint64_t now)
{
    times->idle += now;
}

/* A guest starts: no time has been stolen from it. The VCPU executes, and has been charged for
 * `used` ticks until now. */
static inline void times_start(struct times *times, uint64_t used, uint64_t now)
{
    times->idle = now - used;
}

/* Shows the guest its times. The VCPU begins to execute, and was charged for `used` ticks before.
 */
static inline void times_show(const struct times *times, uint64_t used, uint64_t now)
{
    uint64_t absence = now - used;
    times_product stolen = (times_product)(absence - times->idle) * times->factor;

    __atomic_store_n(&times->shown->absence.ticks, absence, __ATOMIC_RELAXED);
    __atomic_store_n(&times->shown->stolen_time.nanoseconds, (uint64_t)(stolen >> 32),
                     __ATOMIC_RELAXED);
}

#endif
