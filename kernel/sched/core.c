/* SPDX-License-Identifier: BSD-2-Clause */
/* The owner of per-core state. */
#include "sched/core.h"

#include "kernel/interrupt.h"
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

/* Returns the ticks of absence until now. */
static uint64_t absence_ticks(const struct vcpu_absence *absence, uint64_t ways_back)
{
    return __atomic_load_n(&absence->ticks, __ATOMIC_RELAXED) + ways_back;
}

void core_follow_absence(const struct vcpu_absence *absence)
{
    struct core *core = core_this();
    interrupt_state state = interrupts_save();

    core->absence = absence;
    core->ledger.absence = absence_ticks(absence, absence->ways_back);
    interrupts_restore(state);
}

uint64_t core_now_beside_others(struct core *core)
{
    const struct vcpu_absence *absence = core->absence;
    uint64_t ways_back = __atomic_load_n(&absence->ways_back, __ATOMIC_RELAXED);
    uint64_t before, ticks, now;

    do { /* again, if others have executed between the readings: the number has grown then */
        before = ways_back;
        ticks = absence_ticks(absence, before);
        now = arch_clock_ticks();
        ways_back = __atomic_load_n(&absence->ways_back, __ATOMIC_RELAXED);
    } while (ways_back != before);
    ledger_pass(&core->ledger, ticks, now);
    return now;
}

uint64_t core_thread_now(struct core *core)
{
    if (core->current != NULL && !thread_is_runnable(core->current)) {
        return core->ledger.charged;
    }
    return core_now(core);
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
    core_take_unpaid(core, core_now(core));
}
