/* SPDX-License-Identifier: BSD-2-Clause */
/* Changes a shared core from one VCPU to another, and wakes VCPUs for their interrupts. */
#include "scheduler/scheduler.h"

#include "distributor/distributor.h"
#include "distributor/route.h"
#include "entry/interrupt.h"
#include "entry/watch.h"
#include "gic/listed.h"
#include "hypervisor/registers.h"
#include "partition/fault.h"
#include "scheduler/core.h"
#include "scheduler/ledger.h"
#include "scheduler/mail.h"
#include "vcpu/controls.h"
#include "vcpu/power.h"
#include "world_switch/lazy_registers.h"

/* Arm ARM, ISR_EL1. */
#define PENDING_FIQ UINT64_C(0x40)
#define PENDING_IRQ UINT64_C(0x80)

static bool has_work(const struct shared_core *core, const struct shared_vcpu *shared)
{
    return policy_is_runnable(&core->policy, shared->level);
}

uint64_t scheduler_charge(struct shared_core *core)
{
    return ledger_charge(core, scheduler_time());
}

/* Not inline, because the records of choices and of interrupts are more frequent. */
__attribute__((noinline)) void scheduler_record(struct shared_core *core, uint64_t now,
                                                enum trace_kind kind, unsigned level)
{
    policy_trace(&core->policy, &core->trace, now, kind, level);
}

/* Returns the time from which on the VCPU has work: when its timer expired if that was before
 * `now`. */
static uint64_t work_since(const struct shared_vcpu *shared, uint64_t now)
{
    return shared->is_blocked && shared->expiry < now ? shared->expiry : now;
}

static void end_block(struct shared_vcpu *shared, uint64_t now)
{
    if (shared->is_blocked) {
        shared->is_blocked = false;
        times_unblock(&shared->times, work_since(shared, now));
        shared->expiry = UINT64_MAX;
    }
}

/* Called before `next` becomes the payer: charges the VCPU that pays now if it is an earlier cause
 * of this exit. Then `next` does not pay for it. `current`: the VCPU that was interrupted. */
static void charge_earlier_cause(struct shared_core *core, const struct vcpu *current,
                                 const struct vcpu *next)
{
    const struct vcpu *payer = core->ledger.payer;

    if (payer != next && payer != current && payer != NULL) {
        (void)scheduler_charge(core);
    }
}

void scheduler_wake(struct processor *processor, struct vcpu *vcpu)
{
    struct shared_core *core = processor->shared;
    struct shared_vcpu *shared = vcpu->shared;
    /* Its budget returns a period after it had work, however late its timer is handled, and however
     * long the work for an earlier cause takes. */
    uint64_t since = work_since(shared, core->ledger.charged);

    core->reschedule = true;
    charge_earlier_cause(core, processor->vcpu, vcpu);
    if (!has_work(core, shared)) {
        policy_unblock(&core->policy, shared->level, since);
        end_block(shared, since);
    }
    ledger_interrupt(core, vcpu);
}

/* Sets the core's timer to the next choice that is due, or to the time at which the hypervisor has
 * to execute for another reason. Takes effect when the guest continues, because ERET synchronizes
 * the context (Arm ARM, ERET). `level`: of the VCPU that executes, or POLICY_NONE. */
static void set_timer(const struct shared_core *core, unsigned level)
{
    uint64_t choice = policy_next_choice(&core->policy, level, core->ledger.charged);

    register_write(cnthp_cval_el2, core->exit_due < choice ? core->exit_due : choice);
    register_write(cnthp_ctl_el2, 1);
}

void scheduler_resume(struct shared_core *core, struct vcpu *vcpu)
{
    if (core->ledger.payer != vcpu) {
        ledger_return(core, scheduler_time());
        times_prepay(&vcpu->shared->times, core->ledger.costs.way_back);
        ledger_execute(core, vcpu);
    }
    set_timer(core, vcpu->shared->level);
}

/* Handles the message before a choice. It may take long, like the change before it and the choice
 * after it, so interrupts that became pending are handled in between (docs/decisions/0063). Not
 * inline, because few choices follow a message. */
static __attribute__((noinline)) void take_message_alone(struct vcpu *vcpu)
{
    scheduler_handle_interrupts(vcpu);
    mail_handle_message(vcpu);
    scheduler_handle_interrupts(vcpu);
    (void)scheduler_charge(processor_this()->shared);
}

/* Returns `expiry`, the time at which a timer of the VCPU in the core expired. The core has become
 * idle since, or the VCPU is blocking. A time before is not its timer's: the interrupt was not
 * enabled then, or the guest handled it. */
static uint64_t since_block(const struct shared_core *core, const struct shared_vcpu *shared,
                            uint64_t expiry)
{
    return shared->is_blocked && expiry < core->none_pending ? core->none_pending : expiry;
}

/* Returns the time from which on the VCPU has work, whose state was just saved. `waiting`: its
 * private interrupts that are pending. One that became pending after scheduler_wait() looked is
 * seen only here. Its timer's came when that expired. */
static uint64_t saved_expiry(const struct shared_core *core, const struct shared_vcpu *shared,
                             uint32_t waiting)
{
    uint64_t expiry;

    if (waiting == 0) {
        return guest_registers_expiry(&shared->registers, shared->interrupts.enabled);
    }
    expiry = since_block(core, shared, guest_registers_expiry(&shared->registers, waiting));
    return expiry < core->ledger.charged ? expiry : core->ledger.charged;
}

static void save(struct shared_core *core, struct vcpu *vcpu)
{
    struct shared_vcpu *shared = vcpu->shared;
    uint32_t waiting;

    shared->debug.has_effect = core->debug == vcpu && debug_has_effect(&core->resources);
    if (shared->debug.has_effect) {
        lazy_registers_save_debug(core);
    }
    guest_registers_save(&shared->registers, core->has_pointer_keys);
    waiting = interrupts_save(&core->interrupts, vcpu, &shared->interrupts);
    if (has_work(core, shared)) {
        return;
    }
    shared->expiry = saved_expiry(core, shared, waiting);
    if (shared->is_blocked) { /* charged before the core became idle */
        policy_sleep(&core->policy, shared->level, shared->expiry);
    }
}

static void load(struct shared_core *core, struct vcpu *vcpu, const struct vcpu *last)
{
    const struct shared_vcpu *shared = vcpu->shared;
    uint64_t control = register_read(cptr_el2) & ~CPTR_TFP;

    register_write(cptr_el2, core->vectors == vcpu ? control : control | CPTR_TFP);
    /* The last guest's DISR_EL1 (Arm ARM, DISR_EL1: HCR_EL2.AMO is 1). No SError is ever deferred
     * there, because none is virtual. */
    if (core->has_deferred_errors) {
        register_write(VDISR_EL2, 0);
    }
    guest_registers_load(&shared->registers, core->has_pointer_keys);
    if (shared->debug.has_effect) {
        lazy_registers_load_debug(core, vcpu);
    } else {
        debug_trap(core->debug != vcpu);
    }
    interrupts_load(&core->interrupts, &shared->interrupts, &last->shared->interrupts.settings);
    translations_use(core, vcpu);
    if (!mail_is_empty(mail_of(vcpu)) || vcpu->list.has_aside) {
        mail_deliver(vcpu);
        core->reschedule |= vcpu->shared->is_called; /* so that schedule() takes the message */
    }
}

/* Stops the partition of the VCPU whose state was saved, because its private interrupts may disturb
 * others. It is stopped once. */
static __attribute__((noinline)) void stop_unsettled(struct processor *processor)
{
    const struct partition *partition = processor->vcpu->partition;

    if (__atomic_load_n(&partition->atomic.request, __ATOMIC_RELAXED) == REQUEST_NONE) {
        (void)fault_of_device(0);
    } else {
        processor->device_syndrome = 0;
    }
}

/* Lets another VCPU execute. No SError of the guest is pending. Returns when the one that executes
 * now executes again. */
static void change_to(struct processor *processor, struct vcpu *next)
{
    struct vcpu *current = processor->vcpu;

    save(processor->shared, current);
    if (processor->device_syndrome != 0) {
        stop_unsettled(processor);
    }
    processor_set_vcpu(processor, next);
    next->report.switches++;
    if (next->shared->has_executed) {
        load(processor->shared, next, current);
        switch_to_waiting(&current->shared->stack, next->shared->stack, processor);
    } else {
        next->shared->has_executed = true;
        processor->shared->reschedule |= next->shared->is_called;
        switch_to_new(&current->shared->stack, processor);
    }
    scheduler_resume(processor->shared, current);
    /* An interrupt that is pending already, such as an expired timer, saves its exit here. */
    if ((register_read(isr_el1) & PENDING_IRQ) != 0 && !listed_take(current)) {
        interrupt_list(current);
    }
}

/* Closes parts or windows of the core's VCPUs. That takes long, and so does the choice that
 * follows. So interrupts that became pending meanwhile are handled in between
 * (docs/decisions/0063). Not inline, because few choices follow it. Returns the time of the last
 * charge. */
static __attribute__((noinline)) uint64_t close_windows(const struct processor *processor,
                                                        uint64_t now)
{
    distributor_close_windows(processor, now);
    scheduler_handle_interrupts(processor->vcpu);
    return scheduler_charge(processor->shared);
}

/* Closes parts and windows that are over. Returns the time of the next choice. `now`: until then
 * all time is charged. */
static uint64_t close_due_windows(const struct processor *processor, uint64_t now)
{
    const struct shared_core *core = processor->shared;
    bool is_due =
        core->has_to_judge || core->closing != 0 || now - core->window.now >= core->window.part;

    return is_due ? close_windows(processor, now) : now;
}

/* Waits until a VCPU is to execute. None executes, so the state of the one that executed last
 * stays in the core. Returns the level. */
static unsigned idle(const struct processor *processor)
{
    struct shared_core *core = processor->shared;
    uint64_t now;
    unsigned level;

    do {
        if (core->ledger.payer != NULL) {
            ledger_idle(core, scheduler_time());
            core->none_pending = core->ledger.charged;
            scheduler_record(core, core->ledger.charged, TRACE_CHOICE, POLICY_NONE);
        }
        set_timer(core, POLICY_NONE);
        instruction_barrier();
        if (!core->has_to_judge) {
            __asm__ volatile("dsb sy\n\twfi" : : : "memory");
        }
        scheduler_handle_interrupts(processor->vcpu);
        now = scheduler_time(); /* not the time of the last charge, which may be later */
        (void)ledger_charge(core, now);
        level = policy_choose_level(&core->policy, close_due_windows(processor, now));
    } while (level == POLICY_NONE);
    ledger_end_idle(core, processor->vcpu, core->vcpus[level]);
    return level;
}

/* Lets the VCPU execute that the scheduler chooses. `now`: the time of the last charge, unless the
 * calling VCPU pays and has blocked: it pays for the change, too. Returns when the calling VCPU
 * executes again. */
static void schedule_once(struct processor *processor, uint64_t now)
{
    struct shared_core *core = processor->shared;
    struct vcpu *current = processor->vcpu, *next;
    unsigned level = policy_choose_level(&core->policy, now);

    if (level == POLICY_NONE) {
        level = idle(processor);
    }
    core->reschedule = false;
    next = core->vcpus[level];
    end_block(next->shared, core->ledger.charged);
    if (ledger_next_pays(core, current, next)) {
        charge_earlier_cause(core, current, next);
        ledger_execute(core, next);
    }
    if (next == current) {
        core->reschedule = current->shared->is_called; /* so that schedule() takes the message */
        scheduler_resume(core, current);
    } else {
        change_to(processor, next);
    }
}

/* The interrupts that are handled when a VCPU continues may be the hypervisor's own, where the
 * firmware has Group 0: then another choice is due at once, and the core's timer is off until it is
 * made. */
static void schedule(struct processor *processor, uint64_t now)
{
    struct shared_core *core = processor->shared;
    struct vcpu *current = processor->vcpu;
    /* The time since the last charge is on no account yet: the VCPU pays for it if it blocks. */
    uint64_t used = current->report.used + (now - core->ledger.charged);
    uint64_t executed = times_executed(&current->shared->times, used);

    for (;;) {
        schedule_once(processor, now);
        if (!core->reschedule) {
            break;
        }
        if (current->shared->is_called) {
            take_message_alone(current);
        }
        now = scheduler_charge(core);
    }
    scheduler_show_times(core, current, executed);
}

static bool is_interrupted(void)
{
    return (register_read(isr_el1) & (PENDING_FIQ | PENDING_IRQ)) != 0;
}

void scheduler_wait(struct vcpu *vcpu)
{
    struct processor *processor = processor_this();
    struct shared_core *core = processor->shared;

    if (core == NULL) {
        __asm__ volatile("dsb sy\n\twfi" : : : "memory");
        return;
    }
    if (is_interrupted()) { /* the call is saved, because few guests wait with an interrupt */
        scheduler_handle_interrupts(vcpu);
    }
    /* A guest that is off, or stopped, takes no interrupt. */
    if (!vcpu->shared->has_message && !(listed_is_pending(vcpu) && power_may_execute(vcpu))) {
        (void)fault_of_device(0); /* an SError that is pending is this guest's */
        if (core->ledger.payer != vcpu) {
            scheduler_wake(processor, vcpu); /* it pays for the change to the next VCPU */
        }
        policy_block(&core->policy, vcpu->shared->level);
        schedule(processor, scheduler_time());
    }
    vcpu->shared->has_message = false;
}

void scheduler_continue(struct vcpu *vcpu)
{
    struct processor *processor = processor_this();
    const struct shared_core *core = processor->shared;

    if (core != NULL && core->reschedule) {
        if (vcpu->shared->is_called) {
            take_message_alone(vcpu);
        }
        schedule(processor, close_due_windows(processor, core->ledger.charged));
    }
}

void scheduler_enter(uint64_t time)
{
    struct shared_core *core = processor_this()->shared;

    if (core != NULL) {
        (void)ledger_charge(core, time);
    }
}

/* Notes when the timer expired whose interrupt was just taken for a VCPU that has blocked and is
 * still in the core. The interrupt may be handled late: behind one of the hypervisor's, which the
 * GIC signals first (IHI 0069, 4.8), or behind the work for other VCPUs. */
static void note_expiry(const struct shared_core *core, const struct vcpu *vcpu)
{
    if (vcpu->shared->is_blocked) {
        vcpu->shared->expiry =
            since_block(core, vcpu->shared, guest_registers_expiry_in_core(vcpu->list.number));
    }
}

void scheduler_handle_interrupts(struct vcpu *vcpu)
{
    struct processor *processor = processor_this();
    struct shared_core *core = processor->shared;
    uint64_t pending;

    if (core == NULL) {
        interrupt_handle(vcpu);
        return;
    }
    pending = register_read(isr_el1);
    if ((pending & (PENDING_FIQ | PENDING_IRQ)) == 0) {
        return;
    }
    (void)scheduler_charge(core);
    if ((pending & PENDING_FIQ) != 0) {
        interrupt_handle(vcpu);
    }
    if ((pending & PENDING_IRQ) == 0) {
        return;
    }
    if (!listed_take(vcpu)) {
        interrupt_list(vcpu);
    }
    if (listed_is_pending(vcpu)) {
        note_expiry(core, vcpu);
        scheduler_wake(processor, vcpu);
    }
}

bool scheduler_has_interrupt(void)
{
    return processor_this()->shared != NULL &&
           (register_read(isr_el1) & (PENDING_FIQ | PENDING_IRQ)) != 0;
}

bool scheduler_forward_interrupt(struct vcpu *vcpu, uint32_t number)
{
    struct processor *processor = processor_this();
    const struct vcpu *owner = NULL;

    for (struct vcpu *other = processor->vcpus; other != NULL; other = other->next) {
        if (!partition_owns_interrupt(other->partition, number)) {
            continue;
        }
        owner = other;
        if (other != vcpu && route_is_to(other, number)) {
            vcpu->report.exits[EXIT_INTERRUPT]++;
            listed_set_aside(other, number);
            scheduler_wake(processor, other);
            return true;
        }
    }
    if (owner != NULL) { /* its route has changed since it was signalled */
        listed_return(owner, number);
    }
    return owner != NULL;
}

void scheduler_set_work_due(struct processor *processor, uint64_t time)
{
    struct shared_core *core = processor->shared;

    core->work_due = time;
    shared_core_set_exit_due(core);
    core->reschedule = true; /* the choice that follows sets the timer */
}

static void do_due_work(struct processor *processor)
{
    struct shared_core *core = processor->shared;

    core->work_due = UINT64_MAX;
    shared_core_set_exit_due(core);
    watch_do_due_work(processor);
}

void scheduler_timer(struct processor *processor)
{
    struct shared_core *core = processor->shared;
    unsigned due;

    if (core == NULL) {
        watch_handle_timer(processor);
        return;
    }
    register_write(cnthp_ctl_el2, 0);
    /* If another VCPU is due, too, the timer expires again as soon as it is set. */
    due = policy_find_due(&core->policy, core->ledger.charged);
    if (due != POLICY_NONE) {
        scheduler_wake(processor, core->vcpus[due]);
    } else if (register_read(cntpct_el0) >= core->work_due) {
        do_due_work(processor);
    }
    core->reschedule = true;
    instruction_barrier(); /* the timer's line is low before its interrupt ends */
}
