/* SPDX-License-Identifier: BSD-2-Clause */
/* The owner of per-core state. */
#include "sched/core.h"

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
    the_core.vcpu_report.accounted_until = arch_clock_ticks();
}

/* Charges the running, or interrupted, thread for `ticks` until `now`. One that has blocked or
 * ended has been charged, and used no time since. */
static inline void charge_thread(struct core *core, uint64_t ticks, uint64_t now)
{
    struct thread *thread = core->current;

    core->vcpu_report.accounted_until = now;
    if (thread != NULL && ticks != 0) {
        thread->run_ticks += ticks;
        policy_charge(&core->policy, thread, ticks, now);
    }
}

uint64_t core_now(const struct core *core)
{
    if (core->interrupt_depth != 0) {
        return core->interrupt_began;
    }
    if (core->current != NULL && !thread_is_runnable(core->current)) {
        return core->vcpu_report.accounted_until;
    }
    return arch_clock_ticks();
}

uint64_t core_charge(struct core *core)
{
    uint64_t now = core_now(core);

    charge_thread(core, now - core->vcpu_report.accounted_until, now);
    return now;
}

void core_charge_interrupted(struct core *core)
{
    uint64_t ticks = core->interrupt_began - core->vcpu_report.accounted_until;
    uint64_t overhead = core->interrupt_overhead;

    charge_thread(core, ticks > overhead ? ticks - overhead : 0, core->interrupt_began);
}
