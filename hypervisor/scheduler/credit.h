/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The scheduler of a core that is shared by weights (docs/decisions/0031). It is work-conserving:
 * time that a VCPU does not need goes to the others.
 *
 * Account: the time that a VCPU has executed, divided by its weight. The VCPU with the smallest
 * account gets the next turn, which is a quantum long. The account of a VCPU that wakes is raised
 * to the smallest one of the others, so a VCPU cannot save up time. Every tick of execution is
 * charged, and an account never decreases. So a VCPU gains nothing by sleeping at certain moments,
 * as it can under the sampling tick of Xen's credit scheduler.
 *
 * Boost: a VCPU that wakes preempts the others, for at most a quantum, if it has executed no more
 * than its promised share, weight / total. After an execution of t ticks, its next boost is due t *
 * total / weight ticks after the previous one was due, or after the execution began if that is
 * later (the virtual scheduling algorithm, ITU-T I.371). So boosts alone give a VCPU at most its
 * share, and a VCPU that uses less than its share is always boosted.
 *
 * Gang: aligned VCPUs of a partition on several cores (docs/decisions/0061). All cores divide the
 * time into the same slots of a quantum, and turns end with slots. Each gang has slots in which its
 * VCPUs get the turns on all of its cores: each of them unless its account is ahead of the smallest
 * one by more than a turn. So a VCPU is never ahead by more than two turns, which are a quarter
 * longer than a quantum at most. On a core without gangs it is never ahead by more than a quantum.
 *
 * The scheduler is pure logic: no clock, no register. The caller reads `now` once for a decision.
 * All times are ticks of one clock. An account cannot exceed the ticks of all executions, so it
 * wraps no earlier than the clock.
 */
#ifndef SCHEDULER_CREDIT_H
#define SCHEDULER_CREDIT_H

#include "schedule/tournament.h"
#include <stdint.h>

#define CREDIT_PLACES TOURNAMENT_PLACES
#define CREDIT_NONE   CREDIT_PLACES /* no VCPU */

/* The scheduler. A place is the index of a VCPU. The sets have a bit for each place. */
struct credit {
    uint32_t runnable;  /* set of the VCPUs that have work */
    uint32_t boosted;   /* set of the VCPUs that have a boost, and preempt the others */
    uint32_t woken;     /* set of the VCPUs that got work after the last choice */
    unsigned turn;      /* the VCPU whose turn it is, or CREDIT_NONE */
    uint64_t turn_left; /* ticks that are left of the turn */
    uint64_t quantum;   /* ticks */
    uint64_t floor;     /* least account of a VCPU that wakes */
    uint32_t total;     /* sum of the weights */
    uint32_t gangs;     /* set of the VCPUs that have a slot */
    struct credit_vcpu {
        uint32_t weight;
        /* Charged ticks that the account does not include yet, less than `weight`. */
        uint32_t remainder;
        uint64_t account;    /* charged ticks, divided by `weight` */
        uint64_t boost_due;  /* time from which on it gets a boost when it wakes */
        uint64_t boost_left; /* ticks that are left of its boost */
    } vcpus[CREDIT_PLACES];
    struct tournament accounts; /* accounts of the VCPUs that are runnable and not woken */
    /* By place: time at which the timer of a VCPU's guest expires that has no work; UINT64_MAX:
     * never. */
    struct tournament expiries;
    /* Of the VCPUs in `gangs`: the VCPU has slot number n if n % interval == phase. */
    struct credit_slots {
        uint32_t interval, phase;
    } slots[CREDIT_PLACES];
};

/* Initialises a scheduler without VCPUs. `quantum`: ticks, 1 to 2^32 - 1. */
void credit_init(struct credit *credit, uint64_t quantum);

/* Adds a VCPU, which has no work. `place`: less than CREDIT_PLACES, not used before. `weight`: 1 to
 * 2^16 - 1. */
void credit_add(struct credit *credit, unsigned place, uint32_t weight);

/* Gives the VCPU of a gang its slots: those with slot % interval == phase. `interval`: at least 1.
 */
void credit_align(struct credit *credit, unsigned place, uint32_t interval, uint32_t phase);

/* Notes that the VCPU has work. No effect if it had work before. */
void credit_unblock(struct credit *credit, unsigned place);

/* Notes that the VCPU has no more work. A later credit_charge() charges it for its execution, and
 * for the change to another VCPU. */
void credit_block(struct credit *credit, unsigned place);

/* Notes when the timer of the guest expires of a VCPU that has no work. */
void credit_sleep(struct credit *credit, unsigned place, uint64_t expiry);

/* Returns a VCPU whose guest's timer has expired, or CREDIT_NONE. The caller unblocks it. */
unsigned credit_find_expired(const struct credit *credit, uint64_t now);

/* Charges the VCPU for `ticks` of the core's time, which ended at `now`. */
void credit_charge(struct credit *credit, unsigned place, uint64_t ticks, uint64_t now);

/* Returns the VCPU that has to execute now, or CREDIT_NONE. All execution of the VCPUs that have
 * work must have been charged. */
unsigned credit_choose(struct credit *credit, uint64_t now);

/* Returns the time at which another choice is due although no VCPU blocks or unblocks: the end of
 * the turn or of the boost of `executing`, the VCPU that was just chosen, if another VCPU has work;
 * or the next expiry of a timer. Returns UINT64_MAX if none is due. */
uint64_t credit_next_choice(const struct credit *credit, unsigned executing, uint64_t now);

#endif
