/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The policy of fixed priorities, first-in first-out among equals: a thread is as urgent as its
 * priority, and runs until it blocks, yields or a more urgent one becomes runnable. Time does not
 * matter to it.
 */
#include "sched/policy.h"
#include "sched/thread_private.h"

void policy_init(struct policy *policy)
{
    run_queue_init(&policy->run_queue);
}

void policy_admit(struct thread *thread, unsigned priority)
{
    thread->standing = (struct standing){.priority = priority, .urgency = priority};
}

bool policy_unblock(struct policy *policy, struct thread *thread, const struct thread *running,
                    uint64_t now)
{
    (void)now;
    run_queue_add(&policy->run_queue, thread);
    return running == NULL || thread_urgency(thread) > thread_urgency(running);
}

void policy_block(struct policy *policy, struct thread *thread, uint64_t now)
{
    (void)now;
    run_queue_remove(&policy->run_queue, thread);
}

void policy_charge(struct policy *policy, struct thread *thread, uint64_t ticks, uint64_t now)
{
    (void)policy;
    (void)thread;
    (void)ticks;
    (void)now;
}

void policy_charge_interrupt(struct policy *policy, struct thread *thread, uint64_t ticks,
                             uint64_t now)
{
    (void)policy;
    (void)thread;
    (void)ticks;
    (void)now;
}

struct thread *policy_choose(struct policy *policy, uint64_t now)
{
    (void)now;
    return run_queue_pick(&policy->run_queue);
}

uint64_t policy_next_decision(const struct policy *policy, const struct thread *running,
                              uint64_t now)
{
    (void)policy;
    (void)running;
    (void)now;
    return POLICY_NEVER;
}

void policy_yield(struct policy *policy, struct thread *thread, uint64_t now)
{
    (void)now;
    run_queue_yield(&policy->run_queue, thread);
}

unsigned policy_priority(const struct thread *thread)
{
    return thread->standing.priority;
}

void policy_set_priority(struct thread *thread, unsigned priority)
{
    thread->standing.priority = priority;
}

unsigned policy_own_urgency(const struct thread *thread)
{
    return thread->standing.priority;
}

void policy_lend(struct policy *policy, struct thread *thread, const struct thread *waiter,
                 uint64_t now)
{
    unsigned urgency = waiter == NULL ? policy_own_urgency(thread) : thread_urgency(waiter);

    (void)now;
    if (thread_is_runnable(thread)) {
        run_queue_change_urgency(&policy->run_queue, thread, urgency);
    } else {
        thread->standing.urgency = urgency;
    }
}

bool policy_is_alone(const struct policy *policy, const struct thread *running)
{
    return run_queue_is_alone(&policy->run_queue, running);
}
