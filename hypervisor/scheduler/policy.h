/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The scheduler of a shared core: reservation.h or credit.h, whichever the description selects for
 * the core. They explain the functions. A flag selects the scheduler, because a test of a flag
 * takes fewer instructions than a call by a pointer.
 */
#ifndef SCHEDULER_POLICY_H
#define SCHEDULER_POLICY_H

#include "hypervisor/description.h"
#include "scheduler/credit.h"
#include "scheduler/reservation.h"
#include "scheduler/trace.h"
#include <stdbool.h>
#include <stdint.h>

#define POLICY_LEVELS TOURNAMENT_PLACES
#define POLICY_NONE   POLICY_LEVELS /* value of a level: no VCPU */

_Static_assert(POLICY_LEVELS == DESCRIPTION_CORE_VCPUS_MAX, "each VCPU of a core has a level");

_Static_assert(RESERVATION_NONE == POLICY_NONE && CREDIT_NONE == POLICY_NONE, "one value");
_Static_assert(TRACE_NONE == POLICY_NONE, "one value");

/* A scheduler of either kind. */
struct policy {
    bool is_credit;
    union {
        struct reservation reservation;
        struct credit credit;
    };
};

/* Initialises the scheduler. `quantum`: ticks; 0: the scheduler is reservation.h. */
static inline void policy_init(struct policy *policy, uint64_t quantum)
{
    policy->is_credit = quantum != 0;
    if (quantum != 0) {
        credit_init(&policy->credit, quantum);
    } else {
        reservation_init(&policy->reservation);
    }
}

/* Returns true if the VCPU has work. Both schedulers begin with `runnable` and a second set, so
 * both sets may be read by either type (C11, 6.5.2.3, 6). */
static inline bool policy_is_runnable(const struct policy *policy, unsigned level)
{
    return (policy->reservation.runnable >> level & 1) != 0;
}

/* Returns true if the VCPU could execute: it has work and, on a core shared by budgets, budget. */
static inline bool policy_is_ready(const struct policy *policy, unsigned level)
{
    uint32_t ready = policy->reservation.runnable;

    ready &= policy->is_credit ? ready : policy->reservation.funded;
    return (ready >> level & 1) != 0;
}

/* Writes a record with both sets to the trace. */
static inline void policy_trace(const struct policy *policy, struct trace *trace, uint64_t now,
                                enum trace_kind kind, unsigned level)
{
    trace_write(trace, now, kind, level, policy->reservation.runnable, policy->reservation.funded);
}

static inline void policy_unblock(struct policy *policy, unsigned level, uint64_t now)
{
    if (policy->is_credit) {
        credit_unblock(&policy->credit, level);
    } else {
        reservation_unblock(&policy->reservation, level, now);
    }
}

static inline void policy_block(struct policy *policy, unsigned level)
{
    if (policy->is_credit) {
        credit_block(&policy->credit, level);
    } else {
        reservation_block(&policy->reservation, level);
    }
}

/* Charges a VCPU. If it has no work, it sleeps until the timer of its guest expires. */
static inline void policy_charge(struct policy *policy, unsigned level, uint64_t ticks,
                                 uint64_t now, uint64_t expiry)
{
    if (policy->is_credit) {
        credit_charge(&policy->credit, level, ticks, now);
        if (!policy_is_runnable(policy, level)) {
            credit_sleep(&policy->credit, level, expiry);
        }
    } else {
        reservation_charge(&policy->reservation, level, ticks, now, expiry);
    }
}

/* Changes the time at which the timer of the guest expires of a VCPU that sleeps. */
static inline void policy_sleep(struct policy *policy, unsigned level, uint64_t expiry)
{
    if (policy->is_credit) {
        credit_sleep(&policy->credit, level, expiry);
    } else {
        reservation_sleep(&policy->reservation, level, expiry);
    }
}

/* Returns the level of the VCPU for which the core's timer has expired: it gets budget, or work by
 * the timer of its guest. Returns POLICY_NONE if there is none. */
static inline unsigned policy_find_due(const struct policy *policy, uint64_t now)
{
    return policy->is_credit ? credit_find_expired(&policy->credit, now)
                             : reservation_find_due(&policy->reservation, now);
}

/* Returns the level of the VCPU that has to execute now, or POLICY_NONE. */
static inline unsigned policy_choose_level(struct policy *policy, uint64_t now)
{
    return policy->is_credit ? credit_choose(&policy->credit, now)
                             : reservation_choose(&policy->reservation, now);
}

/* Returns the time at which another choice is due, if the VCPU of `level` executes from `now` on.
 * `level`: the one that was just chosen, or POLICY_NONE. */
static inline uint64_t policy_next_choice(const struct policy *policy, unsigned level, uint64_t now)
{
    return policy->is_credit ? credit_next_choice(&policy->credit, level, now)
                             : reservation_next_choice(&policy->reservation, level, now);
}

#endif
