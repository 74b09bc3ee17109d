/* SPDX-License-Identifier: BSD-2-Clause */
/* Scheduling mechanism: switching, blocking, waking, preemption. */
#include "sched/scheduler.h"

#include "interrupt/scheduler_hooks.h"
#include "kernel/interrupt.h"
#include "kernel/memory.h"
#include "kernel/panic.h"
#include "sched/alarm.h"
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

/*
 * Lets the policy choose the running thread, and sets the alarm for the policy's next decision. The
 * caller has charged the time until `now`. The time since then, which the decision took, is charged
 * to nobody.
 */
static struct thread *choose(struct core *core, uint64_t now)
{
    struct thread *next = policy_choose(&core->policy, now);
    uint64_t decision_at;

    core->reschedule = false;
    if (next != core->current) {
        hand_over(core, next);
    }
    deferral_follow(&core->deferral, next);
    core->vcpu_report.accounted_until = arch_clock_ticks();
    decision_at = policy_next_decision(
        &core->policy, next, core->vcpu_report.accounted_until + core->interrupt_overhead);
    if (decision_at != core->decision_at) {
        core->decision_at = decision_at;
        alarm_set(core);
    }
    return next;
}

void scheduler_start(void)
{
    struct core *core = core_this();
    const struct thread_attributes attributes = {
        .name = "idle", .priority = THREAD_PRIORITY_IDLE, .stack_bytes = IDLE_STACK_BYTES};

    if (thread_make(&core->idle, &attributes, idle, core) != RESULT_OK) {
        panic("no memory for the idle thread");
    }
    core->vcpu_report.accounted_until = arch_clock_ticks();
    core->idle->state = THREAD_RUNNING;
    core->current = core->idle;
    arch_context_start(&choose(core, core->vcpu_report.accounted_until)->context);
}

/* The caller has charged the time until `now`. */
static void switch_at(struct core *core, uint64_t now)
{
    struct thread *previous = core->current;
    struct thread *next = choose(core, now);

    if (next != previous) {
        arch_context_switch(&previous->context, &next->context);
    }
}

void scheduler_switch(void)
{
    struct core *core = core_this();

    switch_at(core, core_charge(core));
}

void scheduler_yield(interrupt_state state)
{
    struct core *core = core_this();
    uint64_t now = core_charge(core);

    policy_yield(&core->policy, core->current, now);
    if (arch_interrupts_enabled_in(state) && core->preemption_depth == 0) {
        switch_at(core, now);
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
    if (core->interrupt_depth == 1) {
        core->interrupt_began = arch_clock_ticks();
    }
}

/* Charges the interrupted thread, and then the interrupt for the time since it began. Returns the
 * time. When the handlers of an interrupt have run, and no other is nested in. */
static inline uint64_t charge_interrupt(struct core *core)
{
    uint64_t now;

    core_charge_interrupted(core);
    now = arch_clock_ticks();
    core->vcpu_report.accounted_until = now;
    policy_charge_interrupt(&core->policy, core->interrupt_for, now - core->interrupt_began, now);
    core->interrupt_for = NULL;
    return now;
}

/* Not inline, because most interrupts are followed by no other at once. */
__attribute__((noinline)) void scheduler_interrupt_next(void)
{
    struct core *core = core_this();

    if (core->interrupt_depth == 1 && core->current != NULL) {
        core->interrupt_began = charge_interrupt(core);
    }
}

struct arch_context *scheduler_interrupt_exit(struct arch_context *interrupted)
{
    struct core *core = core_this();
    struct thread *previous = core->current;
    struct thread *next;
    uint64_t now;

    if (core->interrupt_depth != 1 || previous == NULL) {
        core->interrupt_depth--;
        return interrupted;
    }
    now = charge_interrupt(core);
    core->interrupt_depth = 0;
    if (!core->reschedule || core->preemption_depth != 0) {
        return interrupted;
    }
    next = choose(core, now);
    return next == previous ? interrupted : &next->context;
}

enum result scheduler_block(struct wait_queue *queue, uint64_t deadline, interrupt_state state)
{
    struct core *core = core_this();
    struct thread *thread = core->current;
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
    now = core_charge(core);
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
    switch_at(core, now);
    return thread->wait.result;
}

/* Inline in both callers, because a wake-up in an interrupt delays every thread. */
static inline void make_ready(struct thread *thread)
{
    struct core *core = core_this();

    thread->state = THREAD_READY;
    trace_thread_ready(thread);
    if (core->interrupt_depth != 0 && core->interrupt_for == NULL) {
        core->interrupt_for = thread;
    }
    if (policy_unblock(&core->policy, thread, core->current, core_now(core))) {
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
