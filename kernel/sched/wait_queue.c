/* SPDX-License-Identifier: BSD-2-Clause */
/* Queues of blocked threads, by urgency. */
#include "sched/wait_queue.h"

#include "sched/thread_private.h"

void wait_queue_init(struct wait_queue *queue, enum wait_kind kind)
{
    list_init(&queue->waiters);
    list_init(&queue->levels);
    queue->kind = kind;
}

static struct thread *waiter_at(const struct wait_queue *queue, const struct list_node *node)
{
    return node == &queue->waiters.head ? NULL : CONTAINER_OF(node, struct thread, queue_node);
}

static struct thread *level_at(const struct wait_queue *queue, const struct list_node *node)
{
    return node == &queue->levels.head ? NULL : CONTAINER_OF(node, struct thread, level_node);
}

struct thread *wait_queue_first(const struct wait_queue *queue)
{
    return waiter_at(queue, queue->waiters.head.next);
}

struct thread *wait_queue_next(const struct wait_queue *queue, const struct thread *thread)
{
    return waiter_at(queue, thread->queue_node.next);
}

void wait_queue_insert(struct wait_queue *queue, struct thread *thread)
{
    struct thread *level = level_at(queue, queue->levels.head.next);

    while (level != NULL && thread_urgency(level) > thread_urgency(thread)) {
        level = level_at(queue, level->level_node.next);
    }
    if (level != NULL && thread_urgency(level) == thread_urgency(thread)) {
        level = level_at(queue, level->level_node.next); /* behind its equals */
    } else {
        list_insert_before(level == NULL ? &queue->levels.head : &level->level_node,
                           &thread->level_node);
    }
    list_insert_before(level == NULL ? &queue->waiters.head : &level->queue_node,
                       &thread->queue_node);
}

void wait_queue_remove(struct wait_queue *queue, struct thread *thread)
{
    if (list_node_is_linked(&thread->level_node)) {
        struct thread *next = wait_queue_next(queue, thread);

        if (next != NULL && thread_urgency(next) == thread_urgency(thread)) {
            list_insert_before(&thread->level_node, &next->level_node);
        }
        list_remove(&thread->level_node);
    }
    list_remove(&thread->queue_node);
}
