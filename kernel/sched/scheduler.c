/* SPDX-License-Identifier: BSD-2-Clause */
/* Scheduling mechanism: switching, blocking, waking, preemption. */
#include "sched/scheduler.h"

#include "interrupt/scheduler_hooks.h"
#include "kernel/interrupt.h"
#include "kernel/memory.h"
#include "kernel/panic.h"
#include "sched/alarm.h"
#include "sched/charge.h"
#include "sched/core.h"
#include "sched/thread_private.h"
#include "sched/thread_trace.h"
#include "sched/wait_queue.h"
#include <arch/cpu.h>

#define IDLE_STACK_BYTES PAGE_BYTES

void scheduler_init(void)
{
    core_init();
}

/* Returns core_this(), and lets the compiler keep the address in a register. Otherwise it computes
 * the address, which it knows, for most accesses: a dozen instructions in a decision. */
static inline struct core *core_in_register(void)
{
    struct core *core = core_this();

    __asm__("" : "+r"(core));
    return core;
}

static void idle(void *argument)
{
    struct core *core = argument;

    for (;;) {
        thread_reap();
        interrupt_state state = interrupts_save();
        /* Checked with interrupts masked: a thread may have ended since thread_reap(). */
        if (list_is_empty(&core->finished)) {
            arch_wait_for_interrupt();
        }
        interrupts_restore(state); /* the pending interrupt is taken here */
    }
}

/* Makes `next` the running thread in the core's state, before a switch of any kind. */
static inline void hand_over(struct core *core, struct thread *next)
{
    struct thread *previous = core->current;

    trace_switch(previous, next);
    if (previous->state == THREAD_RUNNING) {
        previous->state = THREAD_READY;
    }
    next->state = THREAD_RUNNING;
    next->switches++;
    core->context_switches++;
    core->current = next;
}

/* Lets the policy choose the running thread. The caller has charged the time until `now`. */
static inline struct thread *choose(struct core *core, uint64_t now)
{
    struct thread *next = policy_choose(&core->policy, now);

    core->reschedule = false;
    if (next != core->current) {
        hand_over(core, next);
    }
    deferral_follow(&core->deferral, next);
    return next;
}

/* Begins the time of the chosen thread, which pays for what is on no account yet, and sets the
 * alarm for the policy's next decision. */
static inline void begin_time(struct core *core, const struct thread *next)
{
    uint64_t decision_at =
        policy_next_decision(&core->policy, next, core->ledger.charged + core->ledger.overhead);

    core_report_time(core);
    if (decision_at != core->decision_at) {
        core->decision_at = decision_at;
        alarm_set(core);
    }
}

void scheduler_start(void)
{
    struct core *core = core_this();
    const struct thread_attributes attributes = {
        .name = "idle", .priority = THREAD_PRIORITY_IDLE, .stack_bytes = IDLE_STACK_BYTES};
    struct thread *next;

    if (thread_make(&core->idle, &attributes, idle, core) != RESULT_OK) {
        panic("no memory for the idle thread");
    }
    core_take_unpaid(core, core_now(core));
    core->idle->state = THREAD_RUNNING;
    core->current = core->idle;
    next = choose(core, core->ledger.charged);
    begin_time(core, next);
    arch_context_start(&next->context);
}

/* Switches from a thread that stays runnable. The caller has charged its time until `now`; before,
 * the thread had this urgency. The next thread pays for the decision, because it yields or is more
 * urgent; but not if the budget of the previous thread has ended. */
static void switch_at(struct core *core, unsigned urgency, uint64_t now)
{
    struct thread *previous = core->current;
    struct thread *next = choose(core, now);

    if (thread_urgency(previous) < urgency) {
        core_take_unpaid(core, core_now(core));
    }
    begin_time(core, next);
    if (next != previous) {
        arch_context_switch(&previous->context, &next->context);
    }
}

/* Inline in scheduler_block(). */
static inline void leave(struct core *core, struct vcpu *payer, uint64_t now)
{
    struct thread *previous = core->current;
    struct thread *next = choose(core, now);

    charge_work(core, payer, previous);
    begin_time(core, next);
    if (next != previous) {
        arch_context_switch(&previous->context, &next->context);
    }
}

void scheduler_switch(void)
{
    struct core *core = core_this();
    unsigned urgency = thread_urgency(core->current);

    switch_at(core, urgency, charge_running(core));
}

void scheduler_leave(struct vcpu *payer, uint64_t now)
{
    leave(core_this(), payer, now);
}

void scheduler_yield(interrupt_state state)
{
    struct core *core = core_this();
    unsigned urgency = thread_urgency(core->current);
    uint64_t now = charge_running(core);

    policy_yield(&core->policy, core->current, now);
    if (arch_interrupts_enabled_in(state) && core->preemption_depth == 0) {
        switch_at(core, urgency, now);
    } else {
        core->reschedule = true;
    }
}

void scheduler_preemption_disable(void)
{
    struct core *core = core_this();

    if (core->interrupt_depth != 0) {
        panic("a call for threads only was made in an interrupt");
    }
    core->preemption_depth++;
    __asm__ volatile("" ::: "memory");
}

void scheduler_preemption_enable(void)
{
    struct core *core = core_this();

    __asm__ volatile("" ::: "memory");
    core->preemption_depth--;
    /* An interrupt from here on preempts at its exit; an earlier one has set `reschedule`. */
    __asm__ volatile("" ::: "memory");
    if (core->preemption_depth == 0 && core->reschedule) {
        interrupts_restore(interrupts_save());
    }
}

void scheduler_interrupt_enter(void)
{
    struct core *core = core_this();

    core->interrupts++;
    core->interrupt_depth++;
    if (__builtin_expect(core->interrupt_depth == 1, true)) {
        core->interrupt_began = core_now(core);
    }
}

/* Charges the interrupted thread until the interrupt, and the interrupt until now. */
static void charge_handlers(struct core *core)
{
    charge_interrupted(core);
    charge_interrupt(core);
    core_report_time(core);
}

/* Not inline, because most interrupts are followed by no other at once. */
__attribute__((noinline)) void scheduler_interrupt_next(void)
{
    struct core *core = core_this();

    if (core->interrupt_depth == 1 && core->current != NULL) {
        charge_handlers(core);
        core->interrupt_began = core->ledger.charged;
    }
}

/* Charges the interrupt for its decision too, unless the next thread pays for all of it. */
static inline void charge_decision(struct core *core, const struct thread *next)
{
    if (!core->ledger.has_payer) {
        core_take_unpaid(core, core_now(core));
    } else if (ledger_next_pays(&core->ledger, thread_payer(next))) {
        core->ledger.has_payer = false;
    } else {
        charge_interrupt(core);
    }
}

struct arch_context *scheduler_interrupt_exit(struct arch_context *interrupted)
{
    struct core *core = core_in_register();
    struct thread *previous = core->current;
    struct thread *next;
    uint64_t now;

    if (core->interrupt_depth != 1 || previous == NULL) {
        core->interrupt_depth--;
        return interrupted;
    }
    if (!core->reschedule || core->preemption_depth != 0) {
        charge_handlers(core);
        core->interrupt_depth = 0;
        return interrupted;
    }
    charge_interrupted(core);
    core->interrupt_depth = 0;
    now = core_now(core);
    if (core->ledger.has_payer &&
        policy_work_ends_budget(core->ledger.payer, now - core->ledger.charged)) {
        charge_interrupt(core); /* first, because the choice depends on it */
        now = core->ledger.charged;
    }
    next = choose(core, now);
    charge_decision(core, next);
    begin_time(core, next);
    return next == previous ? interrupted : &next->context;
}

enum result scheduler_block(struct wait_queue *queue, uint64_t deadline, interrupt_state state)
{
    struct core *core = core_this();
    struct thread *thread = core->current;
    struct vcpu *payer;
    uint64_t now;

    if (deadline == DEADLINE_POLL) {
        return RESULT_TIMED_OUT;
    }
    if (thread == NULL || core->interrupt_depth != 0 || core->preemption_depth != 0) {
        panic("a blocking call was made where blocking is not possible");
    }
    if (!arch_interrupts_enabled_in(state)) {
        panic("a blocking call was made inside a critical section");
    }
    now = charge_running(core);
    payer = thread_payer(thread);
    policy_block(&core->policy, thread, now);
    thread->state = THREAD_BLOCKED;
    thread->wait.queue = queue;
    trace_thread_blocked(thread, queue);
    if (queue != NULL) {
        wait_queue_insert(queue, thread);
    }
    if (thread->wait.mutex != NULL) {
        scheduler_update_urgency(thread->wait.mutex->owner, now);
    }
    if (deadline != DEADLINE_NONE) {
        timer_arm(&thread->wait.timer, deadline);
    }
    leave(core, payer, now);
    return thread->wait.result;
}

/* The VCPU of a thread that is woken in an interrupt pays for the interrupt. If it has woken a
 * thread of another VCPU before, that one pays until now. Returns the time from which on the VCPU
 * pays. */
static inline uint64_t name_payer(struct core *core, struct vcpu *payer)
{
    if (ledger_has_other_payer(&core->ledger, payer)) {
        charge_handlers(core);
    } else {
        charge_interrupted(core);
    }
    ledger_name_payer(&core->ledger, payer);
    return core->ledger.charged;
}

/* Inline in both callers, because a wake-up in an interrupt delays every thread. */
static inline void make_ready(struct thread *thread)
{
    struct core *core = core_this();
    uint64_t now =
        core->interrupt_depth != 0 ? name_payer(core, thread_payer(thread)) : core_thread_now(core);
    uint64_t wait_ended_at = core->timers.wait_ended_at;

    thread->state = THREAD_READY;
    trace_thread_ready(thread);
    /* However late the timer's interrupt is handled, because others execute or interrupts are
     * masked, the thread has work since its wait ended. */
    if (policy_unblock(&core->policy, thread, core->current, now,
                       wait_ended_at < now ? wait_ended_at : now)) {
        core->reschedule = true;
    }
}

void scheduler_make_ready(struct thread *thread)
{
    make_ready(thread);
}

/* Ends the wait of a thread for a mutex, whose owner may have inherited from it. */
__attribute__((noinline)) static void end_mutex_wait(struct thread *thread)
{
    struct mutex *mutex = thread->wait.mutex;

    thread->wait.mutex = NULL;
    make_ready(thread);
    if (mutex->owner != NULL) {
        scheduler_update_urgency(mutex->owner, core_charge(core_this()));
    }
}

void scheduler_wake(struct thread *thread, enum result result)
{
    if (thread->wait.timer.armed) {
        (void)timer_cancel(&thread->wait.timer);
    }
    if (thread->wait.queue != NULL) {
        wait_queue_remove(thread->wait.queue, thread);
        thread->wait.queue = NULL;
    }
    thread->wait.result = result;
    if (thread->wait.mutex != NULL) {
        end_mutex_wait(thread);
    } else {
        make_ready(thread);
    }
}
