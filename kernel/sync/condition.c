/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Condition variables. A signal moves the waiter to its mutex ("wait morphing"), so that it runs
 * only when it has the mutex, and the holder of the mutex inherits its urgency meanwhile.
 */
#include "kernel/interrupt.h"
#include "kernel/sync.h"
#include "kernel/time.h"
#include "sched/core.h"
#include "sched/scheduler.h"
#include "sched/thread_private.h"
#include "sched/wait_queue.h"
#include "sync/mutex_private.h"

void condition_init(struct condition *condition)
{
    wait_queue_init(&condition->waiters, WAIT_CONDITION);
}

/* Interrupts stay masked from the unlocking to the block, so that no signal comes between. A thread
 * that is condemned ends when it has unlocked its last mutex. */
static enum result unlock_and_wait(struct condition *condition, struct mutex *mutex,
                                   uint64_t deadline)
{
    interrupt_state state = interrupts_save();
    struct thread *thread = core_this()->current;
    enum result result = mutex_unlock(mutex);

    if (result == RESULT_OK) {
        if (thread->is_condemned && list_is_empty(&thread->held_mutexes)) {
            interrupts_restore(state);
            thread_exit();
        }
        thread->wait.reacquired = mutex;
        result = scheduler_block(&condition->waiters, deadline, state);
    }
    interrupts_restore(state);
    return result;
}

enum result condition_wait(struct condition *condition, struct mutex *mutex, uint64_t deadline)
{
    enum result result;

    if (deadline == DEADLINE_POLL) {
        return mutex->owner == core_this()->current ? RESULT_TIMED_OUT : RESULT_NOT_OWNER;
    }
    result = unlock_and_wait(condition, mutex, deadline);
    if (result == RESULT_TIMED_OUT) {
        (void)mutex_lock(mutex, DEADLINE_NONE);
    }
    return result;
}

bool condition_signal(struct condition *condition)
{
    interrupt_state state = interrupts_save();
    struct thread *waiter = wait_queue_first(&condition->waiters);

    if (waiter != NULL) {
        mutex_grant(waiter->wait.reacquired, waiter);
    }
    interrupts_restore(state);
    return waiter != NULL;
}

/* No thread runs before the last waiter has been signalled, so that none of them waits again and is
 * signalled a second time. */
void condition_broadcast(struct condition *condition)
{
    bool in_thread = !interrupt_context();

    if (in_thread) {
        scheduler_preemption_disable();
    }
    while (condition_signal(condition)) {
    }
    if (in_thread) {
        scheduler_preemption_enable();
    }
}
