/* SPDX-License-Identifier: BSD-2-Clause */
#include "sched/vcpu_supply.h"

#include <arch/cpu.h>
#include <stdbool.h>
#include <stddef.h>

static struct {
    bool is_set;
    struct supply ticks;
} received;

void vcpu_supply_set(const struct supply *nanoseconds)
{
    received.is_set = nanoseconds != NULL;
    if (nanoseconds != NULL) {
        received.ticks = supply_in_ticks(nanoseconds, arch_clock_frequency());
        if (!supply_is_valid(&received.ticks)) {
            received.ticks.budget = 0;
        }
    }
}

const struct supply *vcpu_supply(void)
{
    return received.is_set ? &received.ticks : NULL;
}
