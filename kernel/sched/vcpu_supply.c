/* SPDX-License-Identifier: BSD-2-Clause */
#include "sched/vcpu_supply.h"

#include "time/clock.h"
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

/* An end and its return are measured as three interrupts (interrupt_overhead.c). A start of a
 * thread, or its end, takes less than two. */
struct guest_costs vcpu_costs(uint64_t end_ticks)
{
    uint64_t end = clock_nanoseconds(end_ticks);
    uint64_t change = end - end / 3;

    return received.has_costs
               ? received.costs
               : (struct guest_costs){.enter = change, .leave = change, .end = end, .early = end};
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
