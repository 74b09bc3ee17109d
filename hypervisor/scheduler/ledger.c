/* SPDX-License-Identifier: BSD-2-Clause */
#include "scheduler/ledger.h"

#include "hypervisor/vcpu.h"
#include "scheduler/core.h"

void ledger_init(struct shared_core *core, uint64_t now)
{
    core->ledger.charged = now;
    core->ledger.payer = NULL;
    core->ledger.idle = 0;
}

uint64_t ledger_charge(struct shared_core *core, uint64_t now)
{
    struct ledger *ledger = &core->ledger;
    struct vcpu *payer = ledger->payer;
    uint64_t ticks = now - ledger->charged;

    ledger->charged = now;
    if (payer == NULL) {
        ledger->idle += ticks;
        return now;
    }
    payer->report.used += ticks;
    policy_charge(&core->policy, payer->shared->level, ticks, now);
    if (!policy_is_runnable(&core->policy, payer->shared->level)) {
        /* The payer has blocked, and this was its last charge: it does not miss the time from now
         * on. */
        times_block(&payer->shared->times, now);
    }
    return now;
}

void ledger_execute(struct shared_core *core, struct vcpu *vcpu, uint64_t now)
{
    core->ledger.payer = vcpu;
    policy_trace(&core->policy, &core->trace, now, TRACE_CHOICE, vcpu->shared->level);
}

void ledger_interrupt(struct shared_core *core, struct vcpu *vcpu, uint64_t now)
{
    if (core->ledger.payer != vcpu) {
        core->ledger.payer = vcpu;
        policy_trace(&core->policy, &core->trace, now, TRACE_INTERRUPT, vcpu->shared->level);
    }
}

void ledger_idle(struct shared_core *core)
{
    core->ledger.payer = NULL;
}

bool ledger_next_pays(const struct shared_core *core, const struct vcpu *current,
                      const struct vcpu *next)
{
    const struct vcpu *payer = core->ledger.payer;

    return payer == next || payer == NULL || policy_is_ready(&core->policy, current->shared->level);
}
