/* SPDX-License-Identifier: BSD-2-Clause */
#include "scheduler/ledger.h"

#include "hypervisor/vcpu.h"
#include "scheduler/core.h"

void ledger_init(struct shared_core *core, uint64_t now, uint64_t way_back, uint64_t change)
{
    core->ledger.way_back = way_back;
    core->ledger.change = change;
    core->ledger.charged = now;
    core->ledger.payer = NULL;
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
    (void)ledger_charge(core, now + core->ledger.way_back);
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

void ledger_idle(struct shared_core *core, uint64_t now)
{
    if (core->ledger.payer != NULL) {
        (void)ledger_charge(core, now + core->ledger.change);
        core->ledger.payer = NULL;
    }
}

bool ledger_next_pays(const struct shared_core *core, const struct vcpu *current,
                      const struct vcpu *next)
{
    const struct vcpu *payer = core->ledger.payer;

    return payer == next || payer == NULL ||
           (next != current && policy_is_ready(&core->policy, current->shared->level));
}
