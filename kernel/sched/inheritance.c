/* SPDX-License-Identifier: BSD-2-Clause */
/* Inheritance: the holder of a mutex is at least as urgent as the waiters for it. */
#include "sched/core.h"
#include "sched/scheduler.h"
#include "sched/thread_private.h"
#include "sched/wait_queue.h"

/* Returns the most urgent waiter for the mutexes that the thread holds; NULL if none of them is
 * more urgent than the thread itself. */
static const struct thread *find_lender(const struct thread *thread)
{
    const struct thread *lender = NULL;
    unsigned urgency = policy_own_urgency(thread);

    LIST_FOR_EACH(node, &thread->held_mutexes)
    {
        const struct mutex *mutex = CONTAINER_OF(node, struct mutex, owned);
        const struct thread *waiter = wait_queue_first(&mutex->waiters);

        if (waiter != NULL && thread_urgency(waiter) > urgency) {
            lender = waiter;
            urgency = thread_urgency(waiter);
        }
    }
    return lender;
}

/* A waiting thread moves to its new place in the order of its wait queue. */
static void lend(struct thread *thread, const struct thread *lender, uint64_t now)
{
    struct core *core = core_this();
    struct wait_queue *queue = thread->state == THREAD_BLOCKED ? thread->wait.queue : NULL;

    if (queue != NULL) {
        wait_queue_remove(queue, thread);
    }
    policy_lend(&core->policy, thread, lender, now);
    if (queue != NULL) {
        wait_queue_insert(queue, thread);
    }
    if (thread_is_runnable(thread)) {
        core->reschedule = true; /* another thread may be the most urgent one now */
    }
}

/*
 * The walk ends at the first thread to which its lender lends nothing new. It visits each thread at
 * most once: in a chain because a thread waits for one mutex only, and in a cycle (a deadlock)
 * because every owner has inherited from the thread before it, so that a second visit changes
 * nothing.
 */
static void update_owners(struct thread *thread, uint64_t now)
{
    while (thread != NULL) {
        const struct thread *lender = find_lender(thread);

        if (policy_has_loan(thread, lender)) {
            return;
        }
        lend(thread, lender, now);
        thread = thread->state == THREAD_BLOCKED && thread->wait.mutex != NULL
                     ? thread->wait.mutex->owner
                     : NULL;
    }
}

void scheduler_update_urgency(struct thread *thread, uint64_t now)
{
    if (!thread_stands_alone(thread)) {
        update_owners(thread, now);
    } else if (!policy_has_loan(thread, NULL)) {
        lend(thread, NULL, now);
    }
}
