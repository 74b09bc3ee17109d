/* SPDX-License-Identifier: BSD-2-Clause */
#include "sched/vcpu_supply.h"

#include <arch/cpu.h>
#include <stdbool.h>
#include <stddef.h>

static struct {
    bool is_set;
    bool has_costs;
    struct supply ticks;
    struct guest_costs costs;
} received;

void vcpu_costs_set(const struct guest_costs *nanoseconds)
{
    received.has_costs = nanoseconds != NULL;
    if (nanoseconds != NULL) {
        received.costs = *nanoseconds;
    }
}

const struct guest_costs *vcpu_costs(void)
{
    return received.has_costs ? &received.costs : NULL;
}

void vcpu_supply_set(const struct supply *nanoseconds)
{
    received.is_set = nanoseconds != NULL;
    if (nanoseconds != NULL) {
        struct supply left = *nanoseconds;

        if (received.has_costs) {
            left = guest_supply(&received.costs, nanoseconds);
        }
        received.ticks = supply_in_ticks(&left, arch_clock_frequency());
        if (!supply_is_valid(&received.ticks)) {
            received.ticks.budget = 0;
        }
    }
}

const struct supply *vcpu_supply(void)
{
    return received.is_set ? &received.ticks : NULL;
}
