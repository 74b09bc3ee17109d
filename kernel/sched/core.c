/* SPDX-License-Identifier: BSD-2-Clause */
/* The owner of per-core state. */
#include "sched/core.h"

#include "sched/charge.h"
#include "sched/thread_private.h"
#include "time/timer.h"
#include <arch/cpu.h>

static struct core the_core;

struct core *core_this(void)
{
    return &the_core;
}

struct timer_queue *timers_this(void)
{
    return &the_core.timers;
}

const struct deferral *deferral_this(void)
{
    return &the_core.deferral;
}

void core_init(void)
{
    the_core = (struct core){.current = NULL,
                             .decision_at = POLICY_NEVER,
                             .timer_at = POLICY_NEVER,
                             .timer_guard_at = POLICY_NEVER};
    policy_init(&the_core.policy);
    timer_queue_init(&the_core.timers);
    list_init(&the_core.threads);
    list_init(&the_core.finished);
    ledger_init(&the_core.ledger, arch_clock_ticks());
}

uint64_t core_thread_now(const struct core *core)
{
    if (core->current != NULL && !thread_is_runnable(core->current)) {
        return core->ledger.charged;
    }
    return arch_clock_ticks();
}

uint64_t core_charge(struct core *core)
{
    if (core->interrupt_depth != 0) {
        charge_interrupted(core);
    } else {
        uint64_t now = core_thread_now(core);

        charge_thread(core, ledger_take(&core->ledger, now), now);
        core_report_time(core);
    }
    return core->ledger.charged;
}

void charge_work_beyond(struct core *core, struct vcpu *payer, const struct thread *running,
                        uint64_t ticks)
{
    policy_charge_work_beyond(&core->policy, payer, running, ticks, core->ledger.charged);
    core_take_unpaid(core, arch_clock_ticks());
}
