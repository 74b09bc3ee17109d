/* SPDX-License-Identifier: BSD-2-Clause */
/* Payers of interrupts that wake no thread, and interrupts of VCPUs without budget. */
#include "interrupt/scheduler_hooks.h"
#include "sched/charge.h"
#include "sched/core.h"
#include "sched/urgency.h"
#include "time/clock.h"
#include "time/timer.h"

static uint8_t id_of(const struct vcpu *vcpu)
{
    return vcpu == NULL ? 0 : (uint8_t)vcpu->id;
}

/* Names the VCPU with this id as the payer, if no thread has been woken. Returns the payer; NULL:
 * nobody. */
static struct vcpu *name_payer(struct core *core, uint8_t id)
{
    struct vcpu *payer;

    if (core->ledger.has_payer) {
        return core->ledger.payer;
    }
    payer = vcpu_set_find(&core->policy.vcpus, id);
    if (payer != NULL) {
        charge_interrupted(core);
        ledger_name_payer(&core->ledger, payer);
    }
    return payer;
}

/* Returns the counter value until which the payer's interrupts should wait; 0: they need not. A
 * decision that comes before is early enough: then the interrupted thread's budget has ended. */
static uint64_t wait_of(struct core *core, struct vcpu *payer)
{
    uint64_t now = core->interrupt_began;
    uint64_t resumes;

    if (payer == NULL || core->current == NULL ||
        urgency_level(thread_urgency(core->current)) == URGENCY_BACKGROUND) {
        return 0;
    }
    resumes = policy_resumes(&core->policy, payer, now);
    if (resumes <= now || core->decision_at <= now) {
        return 0;
    }
    return resumes < core->decision_at ? resumes : core->decision_at;
}

static uint64_t wait_time(struct core *core, struct vcpu *payer)
{
    uint64_t until = wait_of(core, payer);

    return until == 0 ? 0 : clock_time(until);
}

uint64_t scheduler_interrupt_pay(uint8_t *payer)
{
    struct core *core = core_this();
    struct vcpu *vcpu = name_payer(core, *payer);

    *payer = id_of(vcpu);
    return vcpu == NULL ? 0 : wait_time(core, vcpu);
}

uint8_t scheduler_caller_vcpu(void)
{
    const struct thread *caller = core_this()->current;

    return caller == NULL ? 0 : id_of(thread_payer(caller));
}

uint8_t timers_armer(uint8_t current)
{
    return core_this()->interrupt_depth != 0 ? current : scheduler_caller_vcpu();
}

uint64_t timers_wait_for(uint8_t payer)
{
    struct core *core = core_this();
    struct vcpu *vcpu = vcpu_set_find(&core->policy.vcpus, payer);
    uint64_t until = wait_time(core, vcpu);

    if (until != 0) {
        (void)name_payer(core, payer);
    }
    return until;
}

uint8_t timers_pay(uint8_t armer)
{
    return id_of(name_payer(core_this(), armer));
}
