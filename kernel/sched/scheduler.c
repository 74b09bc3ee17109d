/* SPDX-License-Identifier: BSD-2-Clause */
/* Scheduling mechanism: switching, blocking, waking, preemption, priority inheritance. */
#include "sched/scheduler.h"

#include "arch/cpu.h"
#include "kernel/interrupt.h"
#include "kernel/memory.h"
#include "kernel/panic.h"
#include "sched/core.h"
#include "sched/interrupt_hooks.h"
#include "sched/thread_private.h"
#include "sched/wait_queue.h"

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
static void hand_over(struct core *core, struct thread *next)
{
    if (core->current->state == THREAD_RUNNING) {
        core->current->state = THREAD_READY;
    }
    next->state = THREAD_RUNNING;
    next->switches++;
    core->context_switches++;
    core->current = next;
}

void scheduler_start(void)
{
    struct core *core = core_this();
    const struct thread_attributes attributes = {
        .name = "idle", .priority = THREAD_PRIORITY_IDLE, .stack_bytes = IDLE_STACK_BYTES};

    if (thread_make(&core->idle, &attributes, idle, core) != RESULT_OK) {
        panic("no memory for the idle thread");
    }
    core->current = core->idle; /* hand_over() needs a predecessor */
    core->reschedule = false;
    core->accounted_until = arch_clock_ticks();
    hand_over(core, run_queue_pick(&core->run_queue));
    arch_context_start(&core->current->context);
}

void scheduler_switch(void)
{
    struct core *core = core_this();
    struct thread *previous = core->current;
    struct thread *next = run_queue_pick(&core->run_queue);

    core->reschedule = false;
    if (next == previous) {
        return;
    }
    core_charge(core, &previous->run_ticks);
    hand_over(core, next);
    arch_context_switch(&previous->context, &next->context);
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
    if (core->interrupt_depth == 1 && core->current != NULL) {
        core_charge(core, &core->current->run_ticks);
    }
}

struct arch_context *scheduler_interrupt_exit(struct arch_context *interrupted)
{
    struct core *core = core_this();

    core->interrupt_depth--;
    if (core->interrupt_depth != 0 || core->current == NULL) {
        return interrupted;
    }
    core_charge(core, &core->interrupt_ticks);
    if (!core->reschedule || core->preemption_depth != 0) {
        return interrupted;
    }
    core->reschedule = false;
    struct thread *next = run_queue_pick(&core->run_queue);

    if (next == core->current) {
        return interrupted;
    }
    hand_over(core, next);
    return &next->context;
}

enum result scheduler_block(struct wait_queue *queue, uint64_t deadline, interrupt_state state)
{
    struct core *core = core_this();
    struct thread *thread = core->current;

    if (deadline == DEADLINE_POLL) {
        return RESULT_TIMED_OUT;
    }
    if (thread == NULL || core->interrupt_depth != 0 || core->preemption_depth != 0) {
        panic("a blocking call was made where blocking is not possible");
    }
    if (!arch_interrupts_enabled_in(state)) {
        panic("a blocking call was made inside a critical section");
    }
    run_queue_remove(&core->run_queue, thread);
    thread->state = THREAD_BLOCKED;
    thread->wait.queue = queue;
    if (queue != NULL) {
        wait_queue_insert(queue, thread);
    }
    if (thread->wait.mutex != NULL) {
        scheduler_update_priority(thread->wait.mutex->owner);
    }
    if (deadline != DEADLINE_NONE) {
        timer_arm(&thread->wait.timer, deadline);
    }
    scheduler_switch();
    return thread->wait.result;
}

void scheduler_wake(struct thread *thread, enum result result)
{
    struct core *core = core_this();
    struct mutex *mutex = thread->wait.mutex;

    timer_cancel(&thread->wait.timer);
    if (thread->wait.queue != NULL) {
        wait_queue_remove(thread->wait.queue, thread);
        thread->wait.queue = NULL;
    }
    thread->wait.mutex = NULL;
    thread->wait.result = result;
    thread->state = THREAD_READY;
    run_queue_add(&core->run_queue, thread);
    if (mutex != NULL && mutex->owner != NULL) {
        scheduler_update_priority(mutex->owner); /* it may have inherited from this thread */
    }
    if (core->current == NULL || run_queue_preempts(thread, core->current)) {
        core->reschedule = true;
    }
}

static unsigned deserved_priority(const struct thread *thread)
{
    unsigned priority = thread->base_priority;

    LIST_FOR_EACH(node, &thread->held_mutexes)
    {
        const struct mutex *mutex = CONTAINER_OF(node, struct mutex, owned);
        const struct thread *waiter = wait_queue_first(&mutex->waiters);

        if (waiter != NULL && waiter->effective_priority > priority) {
            priority = waiter->effective_priority;
        }
    }
    return priority;
}

static void set_effective_priority(struct thread *thread, unsigned priority)
{
    struct core *core = core_this();

    if (thread->state == THREAD_READY || thread->state == THREAD_RUNNING) {
        run_queue_change_priority(&core->run_queue, thread, priority);
        core->reschedule = true; /* another thread may now be the most urgent */
        return;
    }
    if (thread->state != THREAD_BLOCKED || thread->wait.queue == NULL) {
        thread->effective_priority = priority;
        return;
    }
    wait_queue_remove(thread->wait.queue, thread);
    thread->effective_priority = priority;
    wait_queue_insert(thread->wait.queue, thread);
}

/*
 * The walk ends at the first thread whose priority does not change. It visits each thread at most
 * once: in a chain because a thread waits for one mutex only, and in a cycle (a deadlock) because
 * every owner has inherited from the thread before it, so that a second visit changes nothing.
 */
void scheduler_update_priority(struct thread *thread)
{
    while (thread != NULL) {
        unsigned priority = deserved_priority(thread);

        if (priority == thread->effective_priority) {
            return;
        }
        set_effective_priority(thread, priority);
        thread = thread->state == THREAD_BLOCKED && thread->wait.mutex != NULL
                     ? thread->wait.mutex->owner
                     : NULL;
    }
}
