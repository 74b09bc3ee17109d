/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The time in which a VCPU does not execute, and the part of it in which the VCPU has work (stolen
 * time). Pure logic. All times are ticks of CNTPCT_EL0.
 *
 * A VCPU counts as executing while it is charged, and during a way back to its guest that another
 * VCPU has paid. So its absence is the rest of the time, and its virtual time never goes back.
 */
#ifndef STOLEN_TIME_TIMES_H
#define STOLEN_TIME_TIMES_H

#include <arch/vcpu_times.h>
#include <stdint.h>

#define TIMES_NANOSECONDS 1000000000u
/* Ticks by which the stolen time may decrease, because time was charged in advance: far more than
 * that. */
#define TIMES_DECREASE_MAX UINT64_C(0xffffffff)

__extension__ typedef unsigned __int128 times_product;

/* The times of a VCPU. */
struct times {
    struct vcpu_times *shown; /* the times that the guest reads */
    uint64_t factor;          /* number of nanoseconds in 2^32 ticks */
    /* Ticks in which the VCPU had no work. While it has no work: these ticks less the time at which
     * the work ended. */
    uint64_t idle;
    /* Ticks of the ways back to the guest for which others paid in advance. The guest executes in a
     * part of them, so they are no absence: virtual time would go back. */
    uint64_t prepaid;
    uint64_t stolen; /* ticks that the guest reads as stolen, in nanoseconds */
};

/* Initialises the times of a VCPU that has no work. `frequency`: of CNTPCT_EL0, in Hz. */
static inline void times_init(struct times *times, struct vcpu_times *shown, uint64_t frequency)
{
    times->factor = ((uint64_t)TIMES_NANOSECONDS << 32) / frequency;
    times->shown = shown;
    times->idle = 0;
    times->prepaid = 0;
    times->stolen = 0;
}

/* The VCPU begins to execute, and another one has paid in advance for `ticks`. */
static inline void times_prepay(struct times *times, uint64_t ticks)
{
    times->prepaid += ticks;
}

/* The VCPU has no work from `now` on. */
static inline void times_block(struct times *times, uint64_t now)
{
    times->idle -= now;
}

/* The VCPU has work again from `now` on. */
static inline void times_unblock(struct times *times, uint64_t now)
{
    times->idle += now;
}

/* A guest starts on the VCPU, which executes: no time has been stolen from this guest yet. `used`:
 * ticks for which the VCPU was charged until `now`. */
static inline void times_start(struct times *times, uint64_t used, uint64_t now)
{
    times->idle = now - used - times->prepaid;
    times->stolen = 0;
}

/* Writes the times that the guest reads. Called when the VCPU begins to execute. `used`: ticks for
 * which it was charged until `now`. */
static inline void times_show(struct times *times, uint64_t used, uint64_t now)
{
    struct vcpu_times *shown = times->shown;
    uint64_t absence = now - used - times->prepaid;
    uint64_t stolen = absence - times->idle;
    times_product nanoseconds;

    /* What a guest reads must not decrease: Linux would take the difference for a very long time.
     */
    if (times->stolen - stolen > TIMES_DECREASE_MAX) {
        times->stolen = stolen;
    }
    nanoseconds = (times_product)times->stolen * times->factor;
    __atomic_store_n(&shown->absence.ticks, absence, __ATOMIC_RELAXED);
    __atomic_store_n(&shown->stolen_time.nanoseconds, (uint64_t)(nanoseconds >> 32),
                     __ATOMIC_RELAXED);
}

#endif
