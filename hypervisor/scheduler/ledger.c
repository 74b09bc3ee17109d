/* SPDX-License-Identifier: BSD-2-Clause */
#include "scheduler/ledger.h"

#include "hypervisor/vcpu.h"
#include "scheduler/core.h"

void ledger_init(struct shared_core *core, uint64_t now, const struct ledger_costs *costs)
{
    core->ledger.costs = *costs;
    core->ledger.charged = now;
    core->ledger.payer = NULL;
    core->ledger.resumed = NULL;
    core->ledger.idle = 0;
}

/* The VCPU has blocked, and this was its last charge: it does not miss the time from now on, and
 * sleeps until its timer expires. */
static void end_execution(struct shared_vcpu *shared, uint64_t now)
{
    times_block(&shared->times, now);
    shared->is_blocked = true;
    shared->expiry = shared->expiry > now ? shared->expiry : now;
}

uint64_t ledger_charge(struct shared_core *core, uint64_t now)
{
    struct ledger *ledger = &core->ledger;
    struct vcpu *payer = ledger->payer;
    uint64_t ticks;

    if (now < ledger->charged) { /* charged in advance */
        now = ledger->charged;
    }
    ticks = now - ledger->charged;
    ledger->charged = now;
    if (payer == NULL) {
        ledger->idle += ticks;
        return now;
    }
    payer->report.used += ticks;
    if (!policy_is_runnable(&core->policy, payer->shared->level)) {
        end_execution(payer->shared, now);
    }
    policy_charge(&core->policy, payer->shared->level, ticks, now, payer->shared->expiry);
    return now;
}

void ledger_return(struct shared_core *core, uint64_t now)
{
    (void)ledger_charge(core, now + core->ledger.costs.way_back);
}

void ledger_execute(struct shared_core *core, struct vcpu *vcpu)
{
    core->ledger.payer = vcpu;
    policy_trace(&core->policy, &core->trace, core->ledger.charged, TRACE_CHOICE,
                 vcpu->shared->level);
}

void ledger_interrupt(struct shared_core *core, struct vcpu *vcpu)
{
    if (core->ledger.payer != vcpu) {
        core->ledger.payer = vcpu;
        policy_trace(&core->policy, &core->trace, core->ledger.charged, TRACE_INTERRUPT,
                     vcpu->shared->level);
    }
}

/* Returns true if the payer executes since the core was idle, without a change in between. */
static bool has_resumed(const struct ledger *ledger)
{
    return ledger->payer == ledger->resumed &&
           ledger->payer->report.switches == ledger->resumed_switches;
}

void ledger_idle(struct shared_core *core, uint64_t now)
{
    struct ledger *ledger = &core->ledger;

    if (ledger->payer != NULL) {
        now += ledger->costs.leave + (has_resumed(ledger) ? ledger->costs.enter : 0);
        (void)ledger_charge(core, now);
        ledger->payer = NULL;
        ledger->resumed = NULL;
    }
}

void ledger_end_idle(struct shared_core *core, const struct vcpu *current, const struct vcpu *next)
{
    core->ledger.resumed = next == current ? next : NULL;
    core->ledger.resumed_switches = next->report.switches;
}

bool ledger_next_pays(const struct shared_core *core, const struct vcpu *current,
                      const struct vcpu *next)
{
    const struct vcpu *payer = core->ledger.payer;

    return payer == next || payer == NULL ||
           (next != current && policy_is_ready(&core->policy, current->shared->level));
}
