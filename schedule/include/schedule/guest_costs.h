/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Costs of our kernel that no VCPU pays: the admission of its VCPUs counts them
 * (docs/decisions/0058-admission-oracle.md, 0060). ./bulkhead check and the kernel compute it
 * by these functions, from the same numbers. All times are in the unit of the costs.
 */
#ifndef SCHEDULE_GUEST_COSTS_H
#define SCHEDULE_GUEST_COSTS_H

#include "schedule/admission.h"
#include "schedule/supply.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The most that the kernel takes for an event. */
struct guest_costs {
    uint64_t enter; /* a thread is woken: until it executes */
    uint64_t leave; /* a thread waits, or its budget ends: until the next one executes */
    uint64_t end;   /* a budget ends while its thread has work, and returns: both together */
    uint64_t early; /* an alarm that comes early, because the processor was absent meanwhile */
};

/* Returns true if the functions below accept the costs: each is SCHEDULE_PERIOD_MAX at most. */
bool guest_costs_are_valid(const struct guest_costs *costs);

/* Parts of the analysis of a VCPU besides its budget and its own `blocking`. */
struct guest_overheads {
    /* In its response: the end of a less urgent thread, which began just before. */
    uint64_t end;
    /* In its response: a wake-up of each less urgent thread. */
    uint64_t wakes;
    /* In those of less urgent VCPUs: ends of its budget and returns, in each of its periods. */
    uint64_t unpaid;
    /* In those of less urgent VCPUs, once: an end of its budget and a return, and `leave`. */
    uint64_t overrun;
};

/* Returns the overheads of the VCPU of this index. `vcpus`: kinds and periods are read; of equal
 * periods the lower index is more urgent. `threads`: the number of threads of each VCPU. */
struct guest_overheads guest_overheads_of(const struct guest_costs *costs,
                                          const struct admission_vcpu *vcpus,
                                          const uint32_t *threads, size_t count, size_t vcpu);

/* Returns the supply without what the kernel takes of each piece: after the processor was absent,
 * the alarm for the end of a budget may come early once. */
struct supply guest_supply(const struct guest_costs *costs, const struct supply *supply);

/* Returns the shortest budget that is worth its changes. */
uint64_t guest_budget_min(const struct guest_costs *costs);

#endif
