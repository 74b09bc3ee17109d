/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The ledger of a core: who pays for each tick of its time. Pure logic: no clock, no register. All
 * times are values of the counter.
 *
 * Each tick has one payer. Its cause decides who that is:
 *
 *   cause                                        payer
 *   a thread executes                            the thread, and the VCPU that it executes on
 *   an interrupt that wakes a thread: entry,     the VCPU of the thread that is woken, whoever was
 *   handler, decision, switch, and the way back  interrupted
 *   to the thread that was interrupted
 *   an interrupt that wakes nobody               the VCPU that its handler has named
 *                                                (scheduler_interrupt_payer()), otherwise nobody
 *   a thread blocks or ends: decision, switch    its VCPU
 *   a thread yields, or is preempted by a        the thread that runs next, because it was chosen
 *   thread that it has woken                     for its own sake
 *   a budget ends or returns                     nobody, once in a period. A VCPU that has split
 *                                                its budget pays for more (policy_vcpu.c)
 *
 * A payer without a VCPU is nobody, too. So the time that threads have executed, the time that
 * VCPUs have paid for the kernel, and the time that nobody has paid (vcpu_report.unpaid) add up to
 * all time but the absence.
 *
 * Where other guests share the processor, it does not execute this one all of the time. The ledger
 * is told how long it has been absent, and nobody here pays for that: ledger_pass().
 *
 * The kernel reads the counter when an interrupt's handlers begin, and when a thread has been
 * chosen. What an interrupt takes before the first reading and after the last, the overhead, is
 * taken from the interrupted thread's time and is the interrupt's.
 */
#ifndef SCHED_LEDGER_H
#define SCHED_LEDGER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct vcpu;

struct ledger {
    uint64_t charged;   /* all time before is on an account, or passed in absence */
    struct vcpu *payer; /* of the interrupt since then; NULL: nobody. Valid if has_payer */
    bool has_payer;     /* the interrupt has woken a thread, or its handler has named a payer */
    uint64_t overhead;  /* of an interrupt, in ticks; 0 until it is known */
    uint64_t absence;   /* ticks that ledger_pass() has passed */
};

/* Begins at `now`. */
static inline void ledger_init(struct ledger *ledger, uint64_t now)
{
    *ledger = (struct ledger){.charged = now};
}

/* The processor has been absent for `absence` ticks until `now`, since some time in the past.
 * Called for each reading of the counter that ends a payer's time, so that those since the reading
 * before are nobody's. The absence may be ahead of the time: the rest is passed later. */
static inline void ledger_pass(struct ledger *ledger, uint64_t absence, uint64_t now)
{
    uint64_t ticks = absence - ledger->absence;

    if (ticks > now - ledger->charged) {
        ticks = now - ledger->charged;
    }
    ledger->charged += ticks;
    ledger->absence += ticks;
}

/* Returns the ticks until `now` that are on no account yet. The caller charges them. */
static inline uint64_t ledger_take(struct ledger *ledger, uint64_t now)
{
    uint64_t ticks = now - ledger->charged;

    ledger->charged = now;
    return ticks;
}

/* Returns the ticks of a thread that was interrupted, and whose interrupt's handlers began at
 * `began`. A second call for the same interrupt returns 0. */
static inline uint64_t ledger_take_interrupted(struct ledger *ledger, uint64_t began)
{
    uint64_t end = ledger->charged + ledger->overhead;
    uint64_t ticks = began > end ? began - end : 0;

    ledger->charged += ticks;
    return ticks;
}

/* Returns true if another payer than this one has been named, who pays for the time until now
 * first. */
static inline bool ledger_has_other_payer(const struct ledger *ledger, const struct vcpu *payer)
{
    return ledger->has_payer && ledger->payer != payer;
}

static inline void ledger_name_payer(struct ledger *ledger, struct vcpu *payer)
{
    ledger->payer = payer;
    ledger->has_payer = true;
}

/* Returns true if the thread that runs next pays for the interrupt as a part of its own time,
 * because it executes on the VCPU of the interrupt's payer. */
static inline bool ledger_next_pays(const struct ledger *ledger, const struct vcpu *next)
{
    return next != NULL && ledger->payer == next;
}

#endif
