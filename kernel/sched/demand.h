/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The levels of the VCPUs that have runnable threads, with budget or without. Compared with the
 * levels of the run queue, which are those with budget, they tell whether a VCPU that waits for its
 * replenishment is more urgent than the running thread. If none is, no replenishment interrupts
 * that thread. Interrupts masked in every call.
 */
#ifndef SCHED_DEMAND_H
#define SCHED_DEMAND_H

#include "sched/urgency.h"
#include <stdbool.h>
#include <stdint.h>

struct demand {
    uint8_t vcpus[URGENCY_LEVELS]; /* I/O VCPUs can share a level */
    uint64_t levels;               /* bit n: vcpus[n] is not 0 */
};

static inline void demand_add(struct demand *demand, unsigned level)
{
    demand->vcpus[level]++;
    demand->levels |= UINT64_C(1) << level;
}

static inline void demand_remove(struct demand *demand, unsigned level)
{
    demand->vcpus[level]--;
    if (demand->vcpus[level] == 0) {
        demand->levels &= ~(UINT64_C(1) << level);
    }
}

/* Returns true if a VCPU without budget is more urgent than every one with budget. `with_budget`:
 * the levels of the latter. They are different bits, so that the highest of all decides. */
static inline bool demand_exceeds(const struct demand *demand, uint64_t with_budget)
{
    return (demand->levels & ~with_budget) >= with_budget;
}

#endif
