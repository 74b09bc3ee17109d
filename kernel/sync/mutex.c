/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Mutexes with priority inheritance (Sha, Rajkumar, Lehoczky, "Priority Inheritance Protocols",
 * IEEE Trans. Computers 39(9), 1990, the basic protocol). scheduler_update_urgency() computes the
 * inherited urgency on every event that can change it: a thread starts to wait, stops waiting (by
 * hand-over or time-out, in scheduler_wake()), unlocks, or gets another base priority.
 */
#include "kernel/interrupt.h"
#include "kernel/panic.h"
#include "kernel/sync.h"
#include "kernel/time.h"
#include "sched/core.h"
#include "sched/scheduler.h"
#include "sched/thread_private.h"
#include "sched/wait_queue.h"
#include "sync/mutex_private.h"
#include <arch/cpu.h>

void mutex_init(struct mutex *mutex)
{
    mutex->owner = NULL;
    wait_queue_init(&mutex->waiters, WAIT_MUTEX);
    list_node_init(&mutex->owned);
    mutex->locked_at = 0;
    mutex->longest = 0;
    mutex->longest_user = 0;
    mutex->users = 0;
}

static struct thread *calling_thread(void)
{
    struct core *core = core_this();

    if (core->current == NULL || core->interrupt_depth != 0) {
        panic("a mutex was used outside a thread");
    }
    return core->current;
}

/* Returns the ticks for which a thread has executed. */
static inline uint64_t executed_ticks(const struct thread *thread)
{
    struct core *core = core_this();
    uint64_t now;

    if (thread != core->current || core->interrupt_depth != 0) {
        return thread->run_ticks;
    }
    now = core_now(core);
    return thread->run_ticks + (now - core->ledger.charged);
}

/* Begins to measure a critical section. `user`: the bit of the owner's VCPU. */
static inline void begin_section(struct mutex *mutex, const struct thread *owner, uint32_t user)
{
    mutex->locked_at = executed_ticks(owner);
    if ((mutex->users & user) == 0 && user != 0) {
        mutex->users |= user;
        mutex->longest = 0; /* the statistics of the new user don't contain it */
    }
}

/* Critical sections are not measured until a thread of a VCPU locks the mutex: no statistics
 * contain them, and the measurement takes as many instructions as the lock. */
static void set_owner(struct mutex *mutex, struct thread *owner)
{
    uint32_t user = policy_user_bit(owner);

    mutex->owner = owner;
    list_push_back(&owner->held_mutexes, &mutex->owned);
    if ((mutex->users | user) != 0) {
        begin_section(mutex, owner, user);
    }
}

/* Counts a critical section that ends, of a mutex that has users. */
static inline void end_section(struct mutex *mutex, const struct thread *owner)
{
    uint64_t ticks = executed_ticks(owner) - mutex->locked_at;
    uint32_t user = policy_user_bit(owner);

    if (ticks > mutex->longest) {
        mutex->longest = ticks;
        mutex->longest_user = user;
        policy_note_blocking(&core_this()->policy, mutex->users & ~user, ticks);
    } else if (user != mutex->longest_user) {
        policy_note_blocking(&core_this()->policy, mutex->longest_user, ticks);
    }
}

/* Blocks until the mutex is handed over. Interrupts masked by the caller, `state` before that. */
static enum result wait_for_mutex(struct mutex *mutex, struct thread *thread, uint64_t deadline,
                                  interrupt_state state)
{
    if (deadline == DEADLINE_POLL) {
        return RESULT_TIMED_OUT;
    }
    thread->wait.mutex = mutex;
    return scheduler_block(&mutex->waiters, deadline, state);
}

enum result mutex_lock(struct mutex *mutex, uint64_t deadline)
{
    struct thread *thread = calling_thread();
    interrupt_state state = interrupts_save();
    enum result result = RESULT_OK;

    if (mutex->owner == NULL) {
        set_owner(mutex, thread);
    } else if (mutex->owner == thread) {
        result = RESULT_BUSY;
    } else {
        result = wait_for_mutex(mutex, thread, deadline, state);
    }
    interrupts_restore(state);
    return result;
}

enum result mutex_unlock(struct mutex *mutex)
{
    struct thread *thread = calling_thread();
    interrupt_state state = interrupts_save();

    if (mutex->owner != thread) {
        interrupts_restore(state);
        return RESULT_NOT_OWNER;
    }
    struct thread *successor = wait_queue_first(&mutex->waiters);

    list_remove(&mutex->owned);
    mutex->owner = NULL;
    if (mutex->users != 0) {
        end_section(mutex, thread);
    }
    if (successor != NULL) {
        set_owner(mutex, successor);
        scheduler_wake(successor, RESULT_OK);
        scheduler_update_urgency(thread, core_charge(core_this()));
    }
    interrupts_restore(state);
    if (thread->is_condemned && list_is_empty(&thread->held_mutexes) &&
        arch_interrupts_enabled_in(state)) {
        thread_exit();
    }
    return RESULT_OK;
}

void mutex_grant(struct mutex *mutex, struct thread *thread)
{
    if (mutex->owner == NULL) {
        set_owner(mutex, thread);
        scheduler_wake(thread, RESULT_OK);
        return;
    }
    timer_cancel(&thread->wait.timer);
    wait_queue_remove(thread->wait.queue, thread);
    thread->wait.queue = &mutex->waiters;
    thread->wait.mutex = mutex;
    wait_queue_insert(&mutex->waiters, thread);
    scheduler_update_urgency(mutex->owner, core_charge(core_this()));
}
