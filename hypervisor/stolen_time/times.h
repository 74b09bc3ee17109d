/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The time in which a VCPU does not execute, and the part of it in which the VCPU has work (stolen
 * time). Pure logic. All times are ticks of CNTPCT_EL0.
 *
 * A VCPU is absent from when its guest is left, because another VCPU may execute or interrupts,
 * until right before its guest continues. The changes that the VCPU pays are a part of its absence.
 * So its virtual time is the time for which its guest has executed, and the hypervisor for the
 * guest's own exits, and never goes back.
 *
 * For stolen time the VCPU counts as executing while it is charged, and during a way back to its
 * guest that another VCPU has paid.
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
    /* Ticks in which the VCPU had no work, or for which others paid in advance while its guest
     * continued. While it has no work: these ticks less the time at which the work ended. */
    uint64_t unneeded;
    uint64_t stolen; /* ticks that the guest reads as stolen, in nanoseconds */
    /* While the guest executes: its virtual time less the ticks for which the VCPU was charged. */
    uint64_t uncharged;
};

/* Initialises the times of a VCPU that has no work. `frequency`: of CNTPCT_EL0, in Hz. */
static inline void times_init(struct times *times, struct vcpu_times *shown, uint64_t frequency)
{
    times->factor = ((uint64_t)TIMES_NANOSECONDS << 32) / frequency;
    times->shown = shown;
    times->unneeded = 0;
    times->stolen = 0;
    times->uncharged = 0;
}

/* The VCPU begins to execute, and another one has paid in advance for `ticks`. */
static inline void times_prepay(struct times *times, uint64_t ticks)
{
    times->unneeded += ticks;
}

/* The VCPU has no work from `now` on. */
static inline void times_block(struct times *times, uint64_t now)
{
    times->unneeded -= now;
}

/* The VCPU has work again from `now` on. */
static inline void times_unblock(struct times *times, uint64_t now)
{
    times->unneeded += now;
}

/* A guest starts on the VCPU, which executes: no time has been stolen from this guest yet. `used`:
 * ticks for which the VCPU was charged until `charged`. */
static inline void times_start(struct times *times, uint64_t used, uint64_t charged)
{
    times->unneeded = charged - used;
    times->stolen = 0;
}

/* The VCPU's guest has been left, after the VCPU was charged for `used` ticks. Returns the guest's
 * virtual time. */
static inline uint64_t times_executed(const struct times *times, uint64_t used)
{
    return used + times->uncharged;
}

/* Writes the absence that the guest reads. Called at `now`, as late as possible before the guest
 * continues. `executed`: its virtual time. `used`: ticks for which the VCPU was charged until
 * `charged`, which is after `now` if another VCPU has paid in advance: the guest executes then
 * without a charge. `way_back`: from `now` to the guest's first instruction, at most. */
static inline void times_return(struct times *times, uint64_t executed, uint64_t used,
                                uint64_t charged, uint64_t now, uint64_t way_back)
{
    struct vcpu_absence *shown = &times->shown->absence;

    times->uncharged = executed + (charged - now) - used;
    __atomic_store_n(&shown->ticks, now - executed, __ATOMIC_RELAXED);
    __atomic_store_n(&shown->ways_back, shown->ways_back + way_back, __ATOMIC_RELAXED);
}

/* Writes the stolen time that the guest reads. Called when the VCPU begins to execute. `used`:
 * ticks for which it was charged until `charged`. */
static inline void times_show_stolen(struct times *times, uint64_t used, uint64_t charged)
{
    uint64_t stolen = charged - used - times->unneeded;
    times_product nanoseconds;

    /* What a guest reads must not decrease: Linux would take the difference for a very long time.
     */
    if (times->stolen - stolen > TIMES_DECREASE_MAX) {
        times->stolen = stolen;
    }
    nanoseconds = (times_product)times->stolen * times->factor;
    __atomic_store_n(&times->shown->stolen_time.nanoseconds, (uint64_t)(nanoseconds >> 32),
                     __ATOMIC_RELAXED);
}

#endif
