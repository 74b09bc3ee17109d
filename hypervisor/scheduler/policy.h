/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The scheduler of a shared core, as the description chooses it for the core: reservation.h or
 * credit.h, which explain the functions. A test of a flag takes fewer instructions than a call by a
 * pointer.
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
#define POLICY_NONE   POLICY_LEVELS /* no VCPU */

_Static_assert(POLICY_LEVELS == DESCRIPTION_CORE_VCPUS_MAX, "each VCPU of a core has a level");

_Static_assert(RESERVATION_NONE == POLICY_NONE && CREDIT_NONE == POLICY_NONE, "one value");
_Static_assert(TRACE_NONE == POLICY_NONE, "one value");

struct policy {
    bool is_credit;
    union {
        struct reservation reservation;
        struct credit credit;
    };
};

/* `quantum`: ticks; 0: the scheduler is reservation. */
static inline void policy_init(struct policy *policy, uint64_t quantum)
{
    policy->is_credit = quantum != 0;
    if (quantum != 0) {
        credit_init(&policy->credit, quantum);
    } else {
        reservation_init(&policy->reservation);
    }
}

/* Both schedulers begin with `runnable` and another set, so both may be read from either (C11,
 * 6.5.2.3, 6). */
static inline bool policy_is_runnable(const struct policy *policy, unsigned level)
{
    return (policy->reservation.runnable >> level & 1) != 0;
}

/* Returns true if the VCPU could execute: it has work, and budget unless it has a weight. */
static inline bool policy_is_ready(const struct policy *policy, unsigned level)
{
    uint32_t ready = policy->reservation.runnable;

    ready &= policy->is_credit ? ready : policy->reservation.funded;
    return (ready >> level & 1) != 0;
}

/* Writes a record with both sets. */
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

static inline void policy_charge(struct policy *policy, unsigned level, uint64_t ticks,
                                 uint64_t now)
{
    if (policy->is_credit) {
        credit_charge(&policy->credit, level, ticks, now);
    } else {
        reservation_charge(&policy->reservation, level, ticks, now);
    }
}

/* Also finds the time of the next choice. */
static inline unsigned policy_choose_level(struct policy *policy, uint64_t now, uint64_t *next)
{
    unsigned level;

    if (policy->is_credit) {
        level = credit_choose(&policy->credit, now);
        *next = credit_next_choice(&policy->credit, level, now);
    } else {
        level = reservation_choose(&policy->reservation, now);
        *next = reservation_next_choice(&policy->reservation, level, now);
    }
    return level;
}

#endif
