/* SPDX-License-Identifier: BSD-2-Clause */
/* A bitmap of first-in first-out lists. */
#include "sched/run_queue.h"

#include "sched/thread_private.h"

void run_queue_init(struct run_queue *queue)
{
    queue->levels = 0;
    for (unsigned i = 0; i < RUN_QUEUE_LEVELS; i++) {
        list_init(&queue->level[i]);
    }
}

void run_queue_add(struct run_queue *queue, struct thread *thread)
{
    list_push_back(&queue->level[thread_urgency(thread)], &thread->queue_node);
    queue->levels |= UINT64_C(1) << thread_urgency(thread);
}

void run_queue_remove(struct run_queue *queue, struct thread *thread)
{
    list_remove(&thread->queue_node);
    if (list_is_empty(&queue->level[thread_urgency(thread)])) {
        queue->levels &= ~(UINT64_C(1) << thread_urgency(thread));
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
    list_push_back(&queue->level[thread_urgency(thread)], &thread->queue_node);
}

void run_queue_change_urgency(struct run_queue *queue, struct thread *thread, unsigned urgency)
{
    bool raised = urgency > thread_urgency(thread);

    run_queue_remove(queue, thread);
    thread->standing.urgency = urgency;
    if (raised) {
        run_queue_add(queue, thread);
        return;
    }
    list_push_front(&queue->level[urgency], &thread->queue_node);
    queue->levels |= UINT64_C(1) << urgency;
}

bool run_queue_is_alone(const struct run_queue *queue, const struct thread *running)
{
    const struct list *level = &queue->level[thread_urgency(running)];
    uint64_t others = queue->levels & ~(UINT64_C(1) << thread_urgency(running)) & ~(UINT64_C(1));

    return others == 0 && level->head.next == level->head.previous;
}
