/* SPDX-License-Identifier: BSD-2-Clause */
#include "schedule/guest_costs.h"

/* The ends of a VCPU's budgets are free at most so many times in so many periods, and once more
 * (kernel/sched/policy_vcpu.c). */
#define FREE_ENDS 4u
#define PERIODS   3u

/* A budget has to contain so many changes to a thread and from it, and so many free ends. */
#define LEAST_CHANGES 2u
#define LEAST_ENDS    4u

bool guest_costs_are_valid(const struct guest_costs *costs)
{
    return costs->enter <= SCHEDULE_PERIOD_MAX && costs->leave <= SCHEDULE_PERIOD_MAX &&
           costs->end <= SCHEDULE_PERIOD_MAX && costs->early <= SCHEDULE_PERIOD_MAX;
}

/* Returns true if VCPU `one` is more urgent than VCPU `other`. An I/O VCPU is before all Main
 * VCPUs: when it serves nobody and is behind them, its wake-ups are paid by its budget, which the
 * responses of all others contain. */
static bool outranks(const struct admission_vcpu *vcpus, size_t one, size_t other)
{
    bool one_is_main = vcpus[one].kind == ADMISSION_MAIN;
    bool other_is_main = vcpus[other].kind == ADMISSION_MAIN;

    if (one_is_main != other_is_main) {
        return other_is_main;
    }
    if (one_is_main && vcpus[one].period != vcpus[other].period) {
        return vcpus[one].period < vcpus[other].period;
    }
    return one < other;
}

struct guest_overheads guest_overheads_of(const struct guest_costs *costs,
                                          const struct admission_vcpu *vcpus,
                                          const uint32_t *threads, size_t count, size_t vcpu)
{
    struct guest_overheads overheads = {
        .end = costs->leave,
        .unpaid = (costs->end * FREE_ENDS + PERIODS - 1) / PERIODS,
        .overrun = costs->end + costs->leave,
    };

    for (size_t other = 0; other < count; other++) {
        if (outranks(vcpus, vcpu, other)) {
            overheads.wakes += threads[other] * costs->enter;
        }
    }
    return overheads;
}

struct supply guest_supply(const struct guest_costs *costs, const struct supply *supply)
{
    struct supply less = *supply;

    if (__builtin_add_overflow(less.cost, costs->early, &less.cost)) {
        less.cost = UINT64_MAX;
    }
    return less;
}

uint64_t guest_budget_min(const struct guest_costs *costs)
{
    uint64_t changes = LEAST_CHANGES * (costs->enter + costs->leave);
    uint64_t ends = LEAST_ENDS * costs->end;

    return changes > ends ? changes : ends;
}
