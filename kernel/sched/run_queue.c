/* SPDX-License-Identifier: BSD-2-Clause */
/* Fixed-priority policy: a bitmap of first-in first-out lists. */
#include "sched/run_queue.h"

#include "sched/thread_private.h"

void run_queue_init(struct run_queue *queue)
{
    queue->levels = 0;
    for (unsigned i = 0; i < THREAD_PRIORITY_COUNT; i++) {
        list_init(&queue->level[i]);
    }
}

void run_queue_add(struct run_queue *queue, struct thread *thread)
{
    list_push_back(&queue->level[thread->effective_priority], &thread->queue_node);
    queue->levels |= UINT64_C(1) << thread->effective_priority;
}

void run_queue_remove(struct run_queue *queue, struct thread *thread)
{
    list_remove(&thread->queue_node);
    if (list_is_empty(&queue->level[thread->effective_priority])) {
        queue->levels &= ~(UINT64_C(1) << thread->effective_priority);
    }
}

struct thread *run_queue_pick(const struct run_queue *queue)
{
    if (queue->levels == 0) {
        return NULL;
    }
    unsigned highest = 63u - (unsigned)__builtin_clzll(queue->levels);

    return CONTAINER_OF(list_first(&queue->level[highest]), struct thread, queue_node);
}

void run_queue_yield(struct run_queue *queue, struct thread *thread)
{
    list_remove(&thread->queue_node);
    list_push_back(&queue->level[thread->effective_priority], &thread->queue_node);
}

void run_queue_change_priority(struct run_queue *queue, struct thread *thread, unsigned priority)
{
    bool raised = priority > thread->effective_priority;

    run_queue_remove(queue, thread);
    thread->effective_priority = priority;
    if (raised) {
        run_queue_add(queue, thread);
        return;
    }
    list_push_front(&queue->level[priority], &thread->queue_node);
    queue->levels |= UINT64_C(1) << priority;
}

bool run_queue_preempts(const struct thread *candidate, const struct thread *running)
{
    return candidate->effective_priority > running->effective_priority;
}

bool run_queue_is_alone(const struct run_queue *queue, const struct thread *running)
{
    const struct list *level = &queue->level[running->effective_priority];
    uint64_t others = queue->levels & ~(UINT64_C(1) << running->effective_priority) &
                      ~(UINT64_C(1) << THREAD_PRIORITY_IDLE);

    return others == 0 && level->head.next == level->head.previous;
}
