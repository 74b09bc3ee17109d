/* SPDX-License-Identifier: BSD-2-Clause */
/* The VCPUs of a shared core: when each executes, and the change from one to another. */
#include "hypervisor/sharing.h"

#include "entry/interrupt.h"
#include "gic/listed.h"
#include "gic/sgi.h"
#include "hypervisor/registers.h"
#include "manager/manager.h"
#include "partition/fault.h"
#include "shared/core.h"
#include "shared/distributing.h"
#include "vcpu/controls.h"
#include "vcpu/features.h"

/* Arm ARM, ISR_EL1. */
#define PENDING_FIQ UINT64_C(0x40)
#define PENDING_IRQ UINT64_C(0x80)

#define NANOSECONDS 1000000000u
/* The server's budget is in this many pieces at most, or a few more (sporadic_server.h). */
#define PIECES   16u
#define CAPACITY (PIECES + 2u)

static uint64_t counter(void)
{
    instruction_barrier(); /* the counter may be read early otherwise (Arm ARM, CNTPCT_EL0) */
    return register_read(cntpct_el0);
}

/* Charges the VCPU that executes until now. Returns the time. */
static uint64_t charge(const struct processor *processor)
{
    struct shared_core *core = processor->shared;
    struct vcpu *vcpu = processor->vcpu;
    uint64_t now = counter(), ticks = now - core->charged;

    core->charged = now;
    vcpu->report.used += ticks;
    policy_charge(&core->policy, vcpu->shared->level, ticks, now);
    return now;
}

static bool has_work(const struct shared_core *core, const struct shared_vcpu *shared)
{
    return policy_is_runnable(&core->policy, shared->level);
}

static void unblock(struct shared_core *core, const struct vcpu *vcpu, uint64_t now)
{
    struct shared_vcpu *shared = vcpu->shared;

    core->reschedule = true;
    if (!has_work(core, shared)) {
        times_unblock(&shared->times, now);
        tournament_change(&core->expiries, shared->level, UINT64_MAX);
        policy_unblock(&core->policy, shared->level, now);
    }
}

/* Sets the core's timer to the next choice that is due, or to the next expiry of a guest's timer.
 */
static void set_timer(const struct shared_core *core, uint64_t choice)
{
    uint64_t expiry = tournament_earliest(&core->expiries);

    register_write(cnthp_cval_el2, expiry < choice ? expiry : choice);
    register_write(cnthp_ctl_el2, 1);
    instruction_barrier();
}

/* The VCPU executes now: what has come for it becomes pending. */
static void receive(struct vcpu *vcpu)
{
    uint32_t mail = __atomic_exchange_n(&vcpu->partition->mail[vcpu->number], 0, __ATOMIC_ACQ_REL);

    for (uint32_t sgis = mail & MAIL_SGIS; sgis != 0; sgis &= sgis - 1) {
        listed_set_aside(vcpu, (uint32_t)__builtin_ctz(sgis));
    }
    listed_bring_back(vcpu);
}

/* Takes the debug registers from the VCPU that has them. */
static void take_debug(struct shared_core *core)
{
    if (core->debug != NULL) {
        debug_save(&core->resources, &core->debug->shared->debug);
    }
    core->debug = NULL;
}

/* Gives the VCPU the debug registers with the performance monitors. While another VCPU has them, an
 * access traps. */
static void give_debug(struct shared_core *core, const struct vcpu *vcpu)
{
    debug_trap(false);
    if (core->debug != vcpu) {
        take_debug(core);
        debug_load(&core->resources, &vcpu->shared->debug);
        core->debug = vcpu;
    }
}

static void save(struct shared_core *core, struct vcpu *vcpu)
{
    struct shared_vcpu *shared = vcpu->shared;

    shared->debug.has_effect = core->debug == vcpu && debug_has_effect(&core->resources);
    if (shared->debug.has_effect) {
        take_debug(core);
    }
    guest_registers_save(&shared->registers, core->has_pointer_keys);
    interrupts_save(&core->interrupts, vcpu, &shared->interrupts);
    if (!has_work(core, shared)) {
        tournament_change(&core->expiries, shared->level,
                          guest_registers_expiry(&shared->registers, shared->interrupts.enabled));
    }
}

static void load(struct shared_core *core, struct vcpu *vcpu, const struct vcpu *last)
{
    const struct shared_vcpu *shared = vcpu->shared;
    uint64_t control = register_read(cptr_el2) & ~CPTR_TFP;

    register_write(cptr_el2, core->vectors == vcpu ? control : control | CPTR_TFP);
    guest_registers_load(&shared->registers, core->has_pointer_keys);
    if (shared->debug.has_effect) {
        give_debug(core, vcpu);
    } else {
        debug_trap(core->debug != vcpu);
    }
    interrupts_load(&core->interrupts, &shared->interrupts, &last->shared->interrupts.settings);
    receive(vcpu);
}

/* Lets another VCPU execute, until the next choice at `choice`. No SError of the guest is pending.
 * Returns when the one that executes now executes again. */
static void change_to(struct processor *processor, struct vcpu *next, uint64_t choice)
{
    struct vcpu *own = processor->vcpu;

    save(processor->shared, own);
    set_timer(processor->shared, choice); /* own's timer may expire earlier */
    processor_set_vcpu(processor, next);
    next->report.switches++;
    if (next->shared->has_executed) {
        load(processor->shared, next, own);
        switch_to_waiting(&own->shared->stack, next->shared->stack, processor);
    } else {
        next->shared->has_executed = true;
        switch_to_new(&own->shared->stack, processor);
    }
    /* Its timer may have expired: this is one exit less. */
    if ((register_read(isr_el1) & PENDING_IRQ) != 0 && !listed_take(own)) {
        interrupt_list(own);
    }
}

/* Writes a record to the trace. Not inline, because only the records of choose_once() are frequent.
 */
static __attribute__((noinline)) void note(struct shared_core *core, uint64_t now,
                                           enum trace_kind kind, unsigned level)
{
    policy_trace(&core->policy, &core->trace, now, kind, level);
}

/* Waits until a VCPU is to execute. None executes, so the state of the one that executed last
 * stays in the core. Returns the level. `choice`: the time of the next choice. */
static unsigned idle(const struct processor *processor, uint64_t *choice)
{
    struct shared_core *core = processor->shared;
    unsigned level;

    note(core, core->charged, TRACE_CHOICE, POLICY_NONE);
    do {
        set_timer(core, *choice);
        __asm__ volatile("dsb sy\n\twfi" : : : "memory");
        sharing_handle_interrupts(processor->vcpu);
        distributing_end_idle(processor, counter());
        level = policy_choose(&core->policy, core->charged, choice);
    } while (level == POLICY_NONE);
    return level;
}

/* Lets the VCPU execute that is to execute now. The calling one is charged until `now`, and may
 * have blocked. */
static void choose_once(struct processor *processor, uint64_t now)
{
    struct shared_core *core = processor->shared;
    struct vcpu *own = processor->vcpu;
    uint64_t choice;
    unsigned level = policy_choose(&core->policy, now, &choice);

    if (level == POLICY_NONE) {
        level = idle(processor, &choice);
        now = core->charged;
    }
    policy_trace(&core->policy, &core->trace, now, TRACE_CHOICE, level);
    core->reschedule = false;
    if (core->vcpus[level] == own) {
        set_timer(core, choice);
    } else {
        change_to(processor, core->vcpus[level], choice);
    }
    times_show(&own->shared->times, own->report.used, core->charged);
}

/* The interrupts that are handled when a VCPU continues may be the hypervisor's own, where the
 * firmware has Group 0: then another choice is due at once, and the core's timer is off until it is
 * made. */
static void choose(struct processor *processor, uint64_t now)
{
    choose_once(processor, now);
    while (processor->shared->reschedule) {
        choose_once(processor, charge(processor));
    }
}

/* Adds a VCPU that has a budget. */
static void add_reservation(struct shared_core *core, const struct description_vcpu *described,
                            struct shared_vcpu *shared)
{
    uint64_t frequency = register_read(cntfrq_el0);
    uint64_t period = schedule_ratio_floor(described->period, frequency, NANOSECONDS);
    uint64_t budget = schedule_ratio_ceiling(described->budget, frequency, NANOSECONDS);

    budget = budget < period ? budget : period;
    shared->room = core->window.part * budget / period * 3 / 4;
    (void)sporadic_server_init(&shared->server, budget, period, CAPACITY, core->charged);
    sporadic_server_set_piece(&shared->server, (budget + PIECES - 1) / PIECES);
    reservation_add(&core->policy.reservation, shared->level, &shared->server);
}

/* Adds a VCPU to the scheduler: it is more urgent than those of longer periods. Those that have
 * weights have no period. */
static void add(struct processor *processor, struct vcpu *vcpu)
{
    const struct description_vcpu *described = &vcpu->partition->described->vcpus[vcpu->number];
    struct shared_core *core = processor->shared;
    unsigned level = 0;
    bool is_before = true;

    for (const struct vcpu *other = processor->vcpus; other != NULL; other = other->next) {
        uint64_t others = other->partition->described->vcpus[other->number].period;

        is_before = is_before && other != vcpu;
        level += others < described->period || (others == described->period && is_before) ? 1 : 0;
    }
    times_init(&vcpu->shared->times,
               (struct vcpu_times *)(uintptr_t)vcpu->partition->times + vcpu->number,
               register_read(cntfrq_el0));
    times_unblock(&vcpu->shared->times, core->charged);
    vcpu->shared->level = level;
    core->vcpus[level] = vcpu;
    tournament_change(&core->expiries, level, UINT64_MAX);
    if (core->policy.is_credit) {
        vcpu->shared->room = core->window.part; /* as much as the core is not idle */
        credit_add(&core->policy.credit, level, (uint32_t)described->weight);
    } else {
        add_reservation(core, described, vcpu->shared);
    }
    policy_unblock(&core->policy, level, core->charged);
}

void sharing_start(struct processor *processor)
{
    struct shared_core *core = processor->shared;
    struct features features = {0};

    if (core == NULL || core->has_started) {
        return;
    }
    features.isar1 = id_register_read(ID_AA64ISAR1_EL1);
    features.isar2 = id_register_read(ID_AA64ISAR2_EL1);
    core->has_pointer_keys = features_have_pointer_authentication(&features);
    core->resources = debug_resources();
    core->interrupts = interrupt_resources(processor->vcpu);
    core->charged = counter();
    policy_init(&core->policy,
                schedule_ratio_ceiling(core->quantum, register_read(cntfrq_el0), NANOSECONDS));
    tournament_init(&core->expiries);
    for (struct vcpu *vcpu = processor->vcpus; vcpu != NULL; vcpu = vcpu->next) {
        add(processor, vcpu);
    }
    processor->vcpu->shared->has_executed = true;
    note(core, core->charged, TRACE_CHOICE, processor->vcpu->shared->level);
    core->has_started = true;
    core->reschedule = true;
}

void sharing_wait(struct vcpu *vcpu)
{
    struct processor *processor = processor_this();
    struct shared_core *core = processor->shared;

    if (core == NULL) {
        __asm__ volatile("dsb sy\n\twfi" : : : "memory");
        return;
    }
    sharing_handle_interrupts(vcpu);
    if (!vcpu->shared->is_called && !listed_is_pending()) {
        uint64_t now = charge(processor);

        (void)fault_of_device(0); /* an SError that is pending is this guest's */
        times_block(&vcpu->shared->times, now);
        policy_block(&core->policy, vcpu->shared->level, now);
        choose(processor, now);
    }
    vcpu->shared->is_called = false;
}

void sharing_continue(struct vcpu *vcpu)
{
    struct processor *processor = processor_this();

    (void)vcpu;
    if (processor->shared != NULL && processor->shared->reschedule) {
        choose(processor, distributing_look(processor, charge(processor)));
    }
}

void sharing_handle_interrupts(struct vcpu *vcpu)
{
    struct shared_core *core = processor_this()->shared;
    uint64_t pending;

    if (core == NULL) {
        interrupt_handle(vcpu);
        return;
    }
    pending = register_read(isr_el1);
    if ((pending & PENDING_FIQ) != 0) {
        interrupt_handle(vcpu);
    }
    if ((pending & PENDING_IRQ) == 0) {
        return;
    }
    if (!listed_take(vcpu)) {
        interrupt_list(vcpu);
    }
    if (listed_is_pending()) {
        unblock(core, vcpu, counter());
    }
}

bool sharing_take(struct vcpu *vcpu, uint32_t number)
{
    struct processor *processor = processor_this();

    if (processor->shared == NULL) {
        return false;
    }
    for (struct vcpu *other = processor->vcpus; other != NULL; other = other->next) {
        if (other != vcpu && partition_owns_interrupt(other->partition, number)) {
            vcpu->report.exits[EXIT_INTERRUPT]++;
            listed_set_aside(other, number);
            unblock(processor->shared, other, counter());
            return true;
        }
    }
    return false;
}

void sharing_timer(struct vcpu *vcpu)
{
    struct shared_core *core = processor_this()->shared;
    uint64_t now = counter();

    (void)vcpu;
    register_write(cnthp_ctl_el2, 0);
    if (core == NULL) {
        return;
    }
    while (tournament_earliest(&core->expiries) <= now) {
        unblock(core, core->vcpus[tournament_winner(&core->expiries)], now);
    }
    core->reschedule = true;
    instruction_barrier(); /* the timer's line is low before its interrupt ends */
}

void sharing_message(struct vcpu *vcpu)
{
    struct processor *processor = processor_this();

    manager_take_orders(processor->vcpus);
    if (processor->shared == NULL) {
        return;
    }
    for (struct vcpu *other = processor->vcpus; other != NULL; other = other->next) {
        if (__atomic_load_n(&other->partition->mail[other->number], __ATOMIC_ACQUIRE) != 0) {
            other->shared->is_called = true;
            unblock(processor->shared, other, counter());
        }
    }
    receive(vcpu);
}

/* Sends the SGI by mail, because another VCPU may execute on the target's core. */
enum access_result sharing_send(struct vcpu *vcpu, uint64_t value)
{
    struct partition *partition = vcpu->partition;
    struct sgi_targets targets = sgi_targets(partition, vcpu->number, value);

    for (uint32_t left = targets.vcpus; left != 0; left &= left - 1) {
        uint32_t other = (uint32_t)__builtin_ctz(left);

        if (partition->described->vcpus[other].shared == 0) {
            sgi_send_one(partition, other, sgi_number(value));
            continue;
        }
        (void)__atomic_fetch_or(&partition->mail[other], UINT32_C(1) << sgi_number(value),
                                __ATOMIC_RELEASE);
        if (other != vcpu->number) {
            gic_send(partition, other);
        } else {
            receive(vcpu);
        }
    }
    return targets.others ? ACCESS_REFUSED : ACCESS_DONE;
}

/* Writes a record of the VCPU's guest, which starts, or does not execute from now on. */
static __attribute__((noinline)) void note_guest(const struct vcpu *vcpu, enum trace_kind kind)
{
    struct shared_core *core = processor_this()->shared;

    if (core != NULL) {
        note(core, counter(), kind, vcpu->shared->level);
    }
}

void sharing_reset(struct vcpu *vcpu)
{
    struct partition *partition = vcpu->partition;

    (void)__atomic_fetch_and(&partition->mail[vcpu->number], ~MAIL_SGIS, __ATOMIC_ACQ_REL);
    note_guest(vcpu, TRACE_OFF);
    distributing_leave(vcpu);
}

void sharing_start_guest(struct vcpu *vcpu)
{
    struct shared_core *core = processor_this()->shared;
    struct shared_vcpu *shared = vcpu->shared;

    if (core == NULL) {
        return;
    }
    if (shared->partition_starts != vcpu->partition->starts) {
        shared->partition_starts = vcpu->partition->starts;
        times_start(&shared->times, vcpu->report.used, core->charged);
    }
    times_show(&shared->times, vcpu->report.used, core->charged);
    note_guest(vcpu, TRACE_START);
    sharing_give_vectors(vcpu);
    give_debug(core, vcpu);
}

void sharing_give_vectors(struct vcpu *vcpu)
{
    struct shared_core *core = processor_this()->shared;

    if (core == NULL) {
        return;
    }
    register_write(cptr_el2, register_read(cptr_el2) & ~CPTR_TFP);
    instruction_barrier();
    if (core->vectors != vcpu) {
        if (core->vectors != NULL) {
            vectors_save(&core->vectors->shared->vectors);
        }
        vectors_load(&vcpu->shared->vectors);
        core->vectors = vcpu;
    }
}

bool sharing_give_register(struct vcpu *vcpu, unsigned name)
{
    struct shared_core *core = processor_this()->shared;

    if (core == NULL || core->debug == vcpu || !debug_is_trapped(name)) {
        return false;
    }
    give_debug(core, vcpu);
    return true;
}
