/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The scheduler of a shared core by weights. It is work-conserving: time that a VCPU does not need
 * goes to the others.
 *
 * Account: the time that a VCPU has executed, divided by its weight. The VCPU with the smallest
 * account gets the next turn, which is a quantum long. A VCPU that wakes has no account below that
 * of the others, so it cannot save time up. Every tick of execution is charged, and an account
 * never decreases: a VCPU gains nothing by sleeping when others look (the sampling tick of Xen's
 * credit scheduler can be evaded so).
 *
 * Boost: a VCPU that wakes preempts the others, for at most a quantum, if it has executed no more
 * than its promised share: weight / total. After an execution of t ticks its next boost is due
 * t * total / weight ticks after the previous one was due, or after the execution began if that is
 * later (the virtual scheduling algorithm, ITU-T I.371). So boosts alone give a VCPU at most its
 * share, and a VCPU that uses less than its share is always boosted.
 *
 * It is pure logic: no clock, no register. `now` is read once for a decision. All times are ticks
 * of one clock. An account cannot exceed the ticks of all executions, so it wraps no earlier than
 * the clock.
 */
#ifndef SCHEDULER_CREDIT_H
#define SCHEDULER_CREDIT_H

#include "schedule/tournament.h"
#include <stdint.h>

#define CREDIT_PLACES TOURNAMENT_PLACES
#define CREDIT_NONE   CREDIT_PLACES /* no VCPU */

struct credit {
    uint32_t runnable; /* bit n: VCPU n has work, ... */
    uint32_t boosted;  /* ... preempts the others, ... */
    uint32_t woken;    /* ... has got work since the last choice */
    unsigned turn;     /* whose turn it is; CREDIT_NONE: nobody's */
    uint64_t turn_left;
    uint64_t quantum;
    uint64_t floor; /* of the accounts of VCPUs that wake */
    uint32_t total; /* of the weights */
    struct credit_vcpu {
        uint32_t weight;
        uint32_t remainder; /* ticks less than `weight`, which are not in the account yet */
        uint64_t account;
        uint64_t boost_due;
        uint64_t boost_left;
    } vcpus[CREDIT_PLACES];
    struct tournament accounts; /* of VCPUs that have work, and are not only `woken` */
};

/* Makes a scheduler without VCPUs. `quantum`: 1 to 2^32 - 1. */
void credit_init(struct credit *credit, uint64_t quantum);

/* Adds a VCPU, which is blocked. A place has one VCPU. `weight`: 1 to 2^16 - 1. */
void credit_add(struct credit *credit, unsigned place, uint32_t weight);

/* The VCPU has work. No effect if it had work before. */
void credit_unblock(struct credit *credit, unsigned place);

/* The VCPU has no more work. What it has executed, and the change to another VCPU, is charged
 * later. */
void credit_block(struct credit *credit, unsigned place);

/* The core was the VCPU's for `ticks` until `now`. */
void credit_charge(struct credit *credit, unsigned place, uint64_t ticks, uint64_t now);

/* Returns the VCPU that is to execute now, or CREDIT_NONE. All execution of those that
 * have work has been charged. */
unsigned credit_choose(struct credit *credit, uint64_t now);

/* Returns the time at which another choice is due although no VCPU blocks or unblocks: the end of
 * the turn or of the boost of `executing`, the VCPU that has just been chosen. UINT64_MAX: none,
 * because no other VCPU has work. */
uint64_t credit_next_choice(const struct credit *credit, unsigned executing, uint64_t now);

#endif
