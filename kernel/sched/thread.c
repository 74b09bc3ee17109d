/* SPDX-License-Identifier: BSD-2-Clause */
/* Creation, end and joining of threads, and the calls of a thread on itself. */
#include "kernel/thread.h"

#include "kernel/interrupt.h"
#include "kernel/memory.h"
#include "kernel/panic.h"
#include "sched/core.h"
#include "sched/periodic_private.h"
#include "sched/scheduler.h"
#include "sched/thread_private.h"
#include "sched/thread_trace.h"
#include "sched/wait_queue.h"
#include <string.h>

static void wait_timed_out(struct timer *timer, void *argument)
{
    (void)timer;
    scheduler_wake(argument, RESULT_TIMED_OUT);
}

static void copy_name(char name[THREAD_NAME_BYTES], const char *text)
{
    size_t length = text == NULL ? 0 : strnlen(text, THREAD_NAME_BYTES - 1);

    memset(name, 0, THREAD_NAME_BYTES);
    if (length > 0) {
        memcpy(name, text, length);
    }
}

static void thread_free(struct thread *thread)
{
    interrupt_state state = interrupts_save();

    list_remove(&thread->all_node);
    interrupts_restore(state);
    arch_stack_free(thread->stack, thread->stack_bytes);
    heap_free(thread);
}

void thread_reap(void)
{
    struct core *core = core_this();

    for (;;) {
        interrupt_state state = interrupts_save();
        struct list_node *node = list_pop_front(&core->finished);

        interrupts_restore(state);
        if (node == NULL) {
            return;
        }
        thread_free(CONTAINER_OF(node, struct thread, queue_node));
    }
}

/* Allocates a thread and its stack. Returns NULL if memory is exhausted. */
static struct thread *thread_allocate(size_t stack_bytes)
{
    struct thread *thread = heap_allocate(sizeof(*thread));

    if (thread == NULL) {
        return NULL;
    }
    memset(thread, 0, sizeof(*thread));
    thread->stack_bytes = stack_bytes;
    thread->stack = arch_stack_allocate(stack_bytes);
    if (thread->stack == NULL) {
        heap_free(thread);
        return NULL;
    }
    memset(thread->stack, THREAD_STACK_FILL, stack_bytes);
    return thread;
}

enum result thread_make(struct thread **created, const struct thread_attributes *attributes,
                        void (*entry)(void *argument), void *argument)
{
    struct core *core = core_this();

    if (attributes->stack_bytes > SIZE_MAX / 2) {
        return RESULT_NO_MEMORY;
    }
    size_t stack_bytes = (attributes->stack_bytes + PAGE_BYTES - 1) & ~(PAGE_BYTES - 1);
    struct thread *thread = thread_allocate(stack_bytes);

    if (thread == NULL) {
        return RESULT_NO_MEMORY;
    }
    copy_name(thread->name, attributes->name);
    timer_init(&thread->wait.timer, wait_timed_out, thread);
    thread->wait.timer.is_wait = true;
    list_node_init(&thread->level_node);
    list_init(&thread->held_mutexes);
    wait_queue_init(&thread->joiners, WAIT_JOIN);
    arch_context_init(&thread->context, thread->stack, stack_bytes, entry, argument,
                      attributes->floating_point);
    *created = thread;

    interrupt_state state = interrupts_save();

    policy_admit(&core->policy, thread, attributes->priority);
    thread->number = core->next_thread_number++;
    list_push_back(&core->threads, &thread->all_node);
    trace_thread_created(thread);
    scheduler_make_ready(thread);
    interrupts_restore(state);
    return RESULT_OK;
}

enum result thread_create(struct thread **thread, const struct thread_attributes *attributes,
                          void (*entry)(void *argument), void *argument)
{
    if (thread == NULL || attributes == NULL || entry == NULL || attributes->stack_bytes == 0 ||
        attributes->priority < THREAD_PRIORITY_LOWEST ||
        attributes->priority > THREAD_PRIORITY_HIGHEST) {
        return RESULT_INVALID;
    }
    thread_reap();
    return thread_make(thread, attributes, entry, argument);
}

/* Completes the end of a thread, which is on no queue: wakes the joiner, or queues a detached
 * thread for thread_reap(). Interrupts masked. */
static void retire(struct thread *thread)
{
    struct thread *joiner = wait_queue_first(&thread->joiners);

    policy_dismiss(thread);
    thread->state = THREAD_FINISHED;
    trace_thread_ended(thread);
    if (joiner != NULL) {
        scheduler_wake(joiner, RESULT_OK);
    } else if (thread->detached) {
        list_push_back(&core_this()->finished, &thread->queue_node);
    }
}

void thread_exit(void)
{
    struct core *core = core_this();
    struct thread *thread = core->current;
    struct vcpu *payer;
    uint64_t now;

    if (thread == NULL || core->interrupt_depth != 0 || core->preemption_depth != 0) {
        panic("thread_exit() outside a thread");
    }
    if (!list_is_empty(&thread->held_mutexes)) {
        panic("thread %s ended with a mutex locked", thread->name);
    }
    if (!arch_interrupts_enabled_in(interrupts_save())) {
        panic("thread %s ended inside a critical section", thread->name);
    }
    periodic_end(thread);
    now = core_charge(core);
    payer = thread_payer(thread);
    policy_block(&core->policy, thread, now);
    /* Interrupts are masked, so that no thread can free this stack before the switch below. */
    retire(thread);
    scheduler_leave(payer, now);
    panic("thread %s continued after its end", thread->name);
}

/* Takes a thread out of its wait, as if it had never begun. Interrupts masked. */
static void abandon_wait(struct thread *thread)
{
    struct mutex *mutex = thread->wait.mutex;

    (void)timer_cancel(&thread->wait.timer);
    if (thread->wait.queue != NULL) {
        wait_queue_remove(thread->wait.queue, thread);
    }
    if (thread->wait.joined != NULL) {
        thread->wait.joined->join_claimed = false;
    }
    if (mutex != NULL) {
        scheduler_update_urgency(mutex->owner, core_charge(core_this()));
    }
}

void thread_terminate(struct thread *thread)
{
    struct core *core = core_this();

    if (thread == core->current || !list_is_empty(&thread->held_mutexes)) {
        thread->is_condemned = true;
        return;
    }
    periodic_end(thread);
    if (thread->state == THREAD_BLOCKED) {
        abandon_wait(thread);
    } else {
        policy_block(&core->policy, thread, core_charge(core));
    }
    retire(thread);
}

enum result thread_join(struct thread *thread, uint64_t deadline)
{
    interrupt_state state = interrupts_save();
    enum result result = RESULT_OK;

    if (thread == core_this()->current || thread->detached) {
        result = RESULT_INVALID;
    } else if (thread->join_claimed) {
        result = RESULT_BUSY;
    } else if (thread->state != THREAD_FINISHED) {
        struct thread *caller = core_this()->current;

        thread->join_claimed = true;
        caller->wait.joined = thread;
        result = scheduler_block(&thread->joiners, deadline, state);
        caller->wait.joined = NULL;
        thread->join_claimed = result == RESULT_OK;
    } else {
        thread->join_claimed = true;
    }
    interrupts_restore(state);
    if (result == RESULT_OK) {
        thread_free(thread);
    }
    return result;
}

void thread_detach(struct thread *thread)
{
    struct core *core = core_this();
    interrupt_state state = interrupts_save();

    if (!thread->detached) {
        thread->detached = true;
        /* A joiner that was woken by the thread's end, or still waits for it, frees the thread; if
         * its deadline passes first, the thread's end does. */
        if (thread->state == THREAD_FINISHED && !thread->join_claimed) {
            list_push_back(&core->finished, &thread->queue_node);
        }
    }
    interrupts_restore(state);
}

struct thread *thread_current(void)
{
    return core_this()->current;
}

const char *thread_name(const struct thread *thread)
{
    return thread == NULL ? "boot" : thread->name;
}

unsigned thread_priority(const struct thread *thread)
{
    return policy_priority(thread);
}

enum result thread_set_priority(struct thread *thread, unsigned priority)
{
    if (priority < THREAD_PRIORITY_LOWEST || priority > THREAD_PRIORITY_HIGHEST ||
        thread == core_this()->idle) {
        return RESULT_INVALID;
    }
    interrupt_state state = interrupts_save();

    policy_set_priority(thread, priority);
    scheduler_update_urgency(thread, core_charge(core_this()));
    interrupts_restore(state);
    return RESULT_OK;
}

void thread_yield(void)
{
    interrupt_state state = interrupts_save();

    scheduler_yield(state);
    interrupts_restore(state);
}

bool thread_is_alone(void)
{
    struct core *core = core_this();
    interrupt_state state = interrupts_save();
    bool alone = policy_is_alone(&core->policy, core->current);

    interrupts_restore(state);
    return alone;
}

void thread_sleep_until(uint64_t deadline)
{
    interrupt_state state = interrupts_save();

    (void)scheduler_block(NULL, deadline, state);
    interrupts_restore(state);
}
