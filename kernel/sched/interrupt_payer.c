/* SPDX-License-Identifier: BSD-2-Clause */
/* Payers of interrupts that wake no thread, and interrupts of VCPUs without budget. */
#include "interrupt/scheduler_hooks.h"
#include "sched/charge.h"
#include "sched/core.h"
#include "sched/urgency.h"
#include "time/clock.h"
#include "time/timer.h"

/* So many callbacks of a VCPU without budget interrupt threads without budget, until it has budget
 * again. Then they wait, because the callbacks of several timers would leave these threads no time.
 */
#define CALLBACKS_MAX 4u

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

/* Returns true if the interrupted thread executes without budget, and gives way to any other. With
 * preemption disabled it does not: threads with budget wait until it enables preemption, and each
 * interrupt delays that. */
static bool gives_way(const struct core *core)
{
    return core->current != NULL && core->preemption_depth == 0 &&
           urgency_level(thread_urgency(core->current)) == URGENCY_BACKGROUND;
}

/* Returns the counter value from which on the payer has budget; 0: it has, or is nobody. */
static uint64_t resumes_at(struct core *core, struct vcpu *payer)
{
    uint64_t now = core->interrupt_began;
    uint64_t resumes;

    if (payer == NULL || core->current == NULL) {
        return 0;
    }
    resumes = policy_resumes(&core->policy, payer, now);
    return resumes > now ? resumes : 0;
}

/* Returns the time until which an interrupt or a callback of a payer without budget until `resumes`
 * should wait, because the interrupted thread has budget; 0: it need not. A decision that comes
 * before is early enough: then the interrupted thread's budget has ended. */
static uint64_t wait_time(const struct core *core, uint64_t resumes)
{
    if (resumes == 0 || core->decision_at <= core->interrupt_began) {
        return 0;
    }
    return clock_time(resumes < core->decision_at ? resumes : core->decision_at);
}

uint64_t scheduler_interrupt_pay(uint8_t *payer)
{
    struct core *core = core_this();
    struct vcpu *vcpu = name_payer(core, *payer);

    *payer = id_of(vcpu);
    return gives_way(core) ? 0 : wait_time(core, resumes_at(core, vcpu));
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

/* Returns true if a callback of a VCPU without budget until `resumes` is one of the few that
 * interrupt threads which give way. */
static bool is_one_of_few(struct vcpu *payer, uint64_t now, uint64_t resumes)
{
    if (now >= payer->few_until) {
        payer->few_until = resumes;
        payer->few = 0;
    }
    payer->few++;
    return payer->few <= CALLBACKS_MAX;
}

uint64_t timers_wait_for(uint8_t payer)
{
    struct core *core = core_this();
    struct vcpu *vcpu = vcpu_set_find(&core->policy.vcpus, payer);
    uint64_t resumes = resumes_at(core, vcpu);
    uint64_t until = 0;

    if (resumes != 0 && !gives_way(core)) {
        until = wait_time(core, resumes);
    } else if (resumes != 0 && !is_one_of_few(vcpu, core->interrupt_began, resumes)) {
        until = clock_time(resumes);
    }
    if (until != 0) {
        (void)name_payer(core, payer);
    }
    return until;
}

void timers_next(void)
{
    scheduler_interrupt_next();
}

uint8_t timers_pay(uint8_t armer)
{
    return id_of(name_payer(core_this(), armer));
}
