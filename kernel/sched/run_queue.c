/* SPDX-License-Identifier: BSD-2-Clause */
/* Lists of runnable threads, and bitmaps of the lists that are not empty. */
#include "sched/run_queue.h"

#include "sched/thread_private.h"

_Static_assert(URGENCY_LEVELS <= 64 && THREAD_PRIORITY_COUNT <= 64, "a bit for each list");

static uint64_t bit(unsigned number)
{
    return UINT64_C(1) << number;
}

/* Returns the number of the highest bit; `bits` is not 0. */
static unsigned highest(uint64_t bits)
{
    return 63u - (unsigned)__builtin_clzll(bits);
}

static struct thread *thread_at(const struct list_node *node)
{
    return CONTAINER_OF(node, struct thread, queue_node);
}

void run_queue_init(struct run_queue *queue)
{
    queue->levels = 0;
    queue->priorities = 0;
    queue->count = 0;
    for (unsigned i = 0; i < URGENCY_LEVELS; i++) {
        list_init(&queue->level[i]);
    }
    for (unsigned i = 0; i < THREAD_PRIORITY_COUNT; i++) {
        list_init(&queue->background[i]);
    }
}

/* Returns the list of threads of this urgency. */
static struct list *list_of(struct run_queue *queue, unsigned urgency)
{
    unsigned level = urgency_level(urgency);

    return level == URGENCY_BACKGROUND ? &queue->background[urgency_priority(urgency)]
                                       : &queue->level[level];
}

/* Sets the bits of the list of this urgency, which is not empty. */
static void mark_used(struct run_queue *queue, unsigned urgency)
{
    queue->levels |= bit(urgency_level(urgency));
    if (urgency_level(urgency) == URGENCY_BACKGROUND) {
        queue->priorities |= bit(urgency_priority(urgency));
    }
}

/* Clears the bits of the list of this urgency, which is empty. */
static void mark_empty(struct run_queue *queue, unsigned urgency)
{
    if (urgency_level(urgency) == URGENCY_BACKGROUND) {
        queue->priorities &= ~bit(urgency_priority(urgency));
        if (queue->priorities != 0) {
            return;
        }
    }
    queue->levels &= ~bit(urgency_level(urgency));
}

static void insert_behind_equals(struct run_queue *queue, struct thread *thread)
{
    struct list *list = list_of(queue, thread_urgency(thread));
    struct list_node *before = list->head.previous;

    while (before != &list->head && thread_urgency(thread_at(before)) < thread_urgency(thread)) {
        before = before->previous;
    }
    list_insert_before(before->next, &thread->queue_node);
    mark_used(queue, thread_urgency(thread));
}

static void insert_before_equals(struct run_queue *queue, struct thread *thread)
{
    struct list *list = list_of(queue, thread_urgency(thread));
    struct list_node *after = list->head.next;

    while (after != &list->head && thread_urgency(thread_at(after)) > thread_urgency(thread)) {
        after = after->next;
    }
    list_insert_before(after, &thread->queue_node);
    mark_used(queue, thread_urgency(thread));
}

static void take_out(struct run_queue *queue, struct thread *thread)
{
    list_remove(&thread->queue_node);
    if (list_is_empty(list_of(queue, thread_urgency(thread)))) {
        mark_empty(queue, thread_urgency(thread));
    }
}

void run_queue_add(struct run_queue *queue, struct thread *thread)
{
    unsigned urgency = thread_urgency(thread);

    if (urgency_level(urgency) == URGENCY_BACKGROUND) {
        list_push_back(&queue->background[urgency_priority(urgency)], &thread->queue_node);
        queue->levels |= bit(URGENCY_BACKGROUND);
        queue->priorities |= bit(urgency_priority(urgency));
    } else {
        insert_behind_equals(queue, thread);
    }
    queue->count++;
}

void run_queue_remove(struct run_queue *queue, struct thread *thread)
{
    take_out(queue, thread);
    queue->count--;
}

struct thread *run_queue_pick(const struct run_queue *queue)
{
    const struct list *list;

    if (queue->levels == 0) {
        return NULL;
    }
    list = &queue->level[highest(queue->levels)];
    if (highest(queue->levels) == URGENCY_BACKGROUND) {
        list = &queue->background[highest(queue->priorities)];
    }
    return thread_at(list->head.next);
}

void run_queue_yield(struct run_queue *queue, struct thread *thread)
{
    struct list_node *after = thread->queue_node.next;
    const struct list *list = list_of(queue, thread_urgency(thread));

    while (after != &list->head && thread_urgency(thread_at(after)) == thread_urgency(thread)) {
        after = after->next;
    }
    list_remove(&thread->queue_node);
    list_insert_before(after, &thread->queue_node);
}

void run_queue_change_urgency(struct run_queue *queue, struct thread *thread, unsigned urgency)
{
    bool raised = urgency > thread_urgency(thread);

    take_out(queue, thread);
    thread->standing.urgency = urgency;
    if (raised) {
        insert_behind_equals(queue, thread);
    } else {
        insert_before_equals(queue, thread);
    }
}

size_t run_queue_count(const struct run_queue *queue)
{
    return queue->count;
}
