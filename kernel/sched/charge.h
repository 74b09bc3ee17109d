/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Moves the core's time from the ledger to the accounts: to threads, and to the VCPUs for which the
 * kernel works. Inline, because each switch charges twice. Interrupts masked in every call.
 */
#ifndef SCHED_CHARGE_H
#define SCHED_CHARGE_H

#include "sched/core.h"
#include "sched/thread_private.h"

/* Charges the running, or interrupted, thread for `ticks` until `now`. One that has blocked or
 * ended has been charged, and used no time since. */
static inline void charge_thread(struct core *core, uint64_t ticks, uint64_t now)
{
    struct thread *thread = core->current;

    if (thread != NULL && ticks != 0) {
        thread->run_ticks += ticks;
        policy_charge(&core->policy, thread, ticks, now);
    }
}

/* Charges the running thread for its time until now, which it returns. Thread context; the thread
 * has not blocked. */
static inline uint64_t charge_running(struct core *core)
{
    uint64_t now = core_now(core);
    uint64_t ticks = ledger_take(&core->ledger, now);

    core->current->run_ticks += ticks;
    policy_charge(&core->policy, core->current, ticks, now);
    return now;
}

/* Charges the interrupted thread for its time until the interrupt began, without the overhead of
 * the interrupt. */
static inline void charge_interrupted(struct core *core)
{
    uint64_t began = core->interrupt_began;

    charge_thread(core, ledger_take_interrupted(&core->ledger, began), began);
}

/* The part of charge_work() that is seldom needed. Not inline for this reason. core.c */
void charge_work_beyond(struct core *core, struct vcpu *payer, const struct thread *running,
                        uint64_t ticks);

/* Charges a VCPU, or nobody (NULL), for the time until now, in which the kernel worked for it. A
 * VCPU without budget pays nothing if `running`, the thread that ran before or was interrupted, had
 * no budget either. */
static inline void charge_work(struct core *core, struct vcpu *payer, const struct thread *running)
{
    uint64_t now = core_now(core);

    if (payer == NULL) {
        core_take_unpaid(core, now);
    } else {
        uint64_t ticks = ledger_take(&core->ledger, now);

        if (!policy_charge_work(payer, ticks)) {
            charge_work_beyond(core, payer, running, ticks);
        }
    }
}

/* Charges the payer of the interrupt for the time until now: the VCPU that has been named, or
 * nobody. The interrupted thread has been charged. */
static inline void charge_interrupt(struct core *core)
{
    struct vcpu *payer = core->ledger.has_payer ? core->ledger.payer : NULL;

    core->ledger.has_payer = false;
    charge_work(core, payer, core->current);
}

#endif
