/* SPDX-License-Identifier: BSD-2-Clause */
#include "sched/alarm.h"

#include "sched/core.h"
#include "time/timer.h"
#include <arch/cpu.h>

void alarm_set(const struct core *core)
{
    arch_clock_alarm(core->decision_at < core->timer_guard_at ? core->decision_at : core->timer_at);
}

static void update_timer_at(struct core *core)
{
    core->timer_at = timers_due_at(&core->timers);
    core->timer_guard_at = deferral_guard_of(&core->deferral, core->timer_at);
}

void timers_first_changed(void)
{
    struct core *core = core_this();

    update_timer_at(core);
    alarm_set(core);
}

void alarm_expired(void)
{
    struct core *core = core_this();
    uint64_t ticks = arch_clock_ticks();

    /* First, because callbacks are to be called with little delay. */
    if (ticks >= core->timer_at) {
        timers_expire(&core->timers, core->timer_at, ticks);
        update_timer_at(core);
    }
    if (ticks >= core->decision_at) {
        core->decision_at = POLICY_NEVER;
        core->reschedule = true; /* the policy chooses at the interrupt's exit */
    }
    alarm_set(core);
}
