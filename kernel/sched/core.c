/* SPDX-License-Identifier: BSD-2-Clause */
/* The owner of per-core state. */
#include "sched/core.h"

#include "arch/cpu.h"

static struct core the_core;

struct core *core_this(void)
{
    return &the_core;
}

void core_init(void)
{
    the_core = (struct core){.current = NULL};
    run_queue_init(&the_core.run_queue);
    timer_queue_init(&the_core.timers);
    list_init(&the_core.threads);
    list_init(&the_core.finished);
    the_core.accounted_until = arch_clock_ticks();
}

void core_charge(struct core *core, uint64_t *ticks)
{
    uint64_t now = arch_clock_ticks();

    *ticks += now - core->accounted_until;
    core->accounted_until = now;
}
