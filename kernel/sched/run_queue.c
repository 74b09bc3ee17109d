/* SPDX-License-Identifier: BSD-2-Clause */
/* Lists of runnable threads, chains of groups of them, and bitmaps of those that are not empty. */
#include "sched/run_queue.h"

#include "sched/thread_private.h"

_Static_assert(URGENCY_LEVELS <= 64 && THREAD_PRIORITY_COUNT <= 64, "a bit for each list");

enum place { BEHIND_EQUALS, BEFORE_EQUALS };

static uint64_t bit(unsigned number)
{
    return UINT64_C(1) << number;
}

/* Returns the number of the highest bit; `bits` is not 0. */
static unsigned highest(uint64_t bits)
{
    return 63u ^ (unsigned)__builtin_clzll(bits);
}

static struct thread *in_group(const struct list_node *node)
{
    return CONTAINER_OF(node, struct thread, standing.group_node);
}

static unsigned priority_of(const struct thread *thread)
{
    return urgency_priority(thread_urgency(thread));
}

void run_queue_init(struct run_queue *queue)
{
    queue->levels = 0;
    queue->priorities = 0;
    queue->count = 0;
    for (unsigned i = 0; i < URGENCY_LEVELS; i++) {
        queue->level[i] = NULL;
    }
    for (unsigned i = 0; i < THREAD_PRIORITY_COUNT; i++) {
        list_init(&queue->background[i]);
    }
}

void run_queue_group_init(struct run_queue_group *group)
{
    list_init(&group->threads);
    group->next = NULL;
    group->level = URGENCY_BACKGROUND;
}

/* Returns the highest priority in a group that has a thread. */
static unsigned priority_in(const struct run_queue_group *group)
{
    return priority_of(in_group(group->threads.head.next));
}

/* Puts a group that has a thread among those of its level. */
static inline void enter_level(struct run_queue *queue, struct run_queue_group *group)
{
    struct run_queue_group **link = &queue->level[group->level];

    if (group->level == URGENCY_BACKGROUND) {
        return;
    }
    while (*link != NULL && priority_in(*link) >= priority_in(group)) {
        link = &(*link)->next;
    }
    group->next = *link;
    *link = group;
    queue->levels |= bit(group->level);
}

static void leave_level(struct run_queue *queue, const struct run_queue_group *group)
{
    struct run_queue_group **link = &queue->level[group->level];

    if (group->level == URGENCY_BACKGROUND) {
        return;
    }
    while (*link != group) {
        link = &(*link)->next;
    }
    *link = group->next;
    if (queue->level[group->level] == NULL) {
        queue->levels &= ~bit(group->level);
    }
}

void run_queue_set_level(struct run_queue *queue, struct run_queue_group *group, unsigned level)
{
    bool has_threads = !list_is_empty(&group->threads);

    if (level == group->level) {
        return;
    }
    if (has_threads) {
        leave_level(queue, group);
    }
    group->level = level;
    if (has_threads) {
        enter_level(queue, group);
    }
}

/* Returns the node of the group in front of which a thread of this priority belongs. */
static struct list_node *position_in(struct run_queue_group *group, unsigned priority,
                                     enum place place)
{
    struct list_node *node = group->threads.head.next;

    while (node != &group->threads.head &&
           (priority_of(in_group(node)) > priority ||
            (place == BEHIND_EQUALS && priority_of(in_group(node)) == priority))) {
        node = node->next;
    }
    return node;
}

static void join_group(struct run_queue *queue, struct run_queue_group *group,
                       struct thread *thread, enum place place)
{
    bool was_empty = list_is_empty(&group->threads);

    list_insert_before(position_in(group, priority_of(thread), place),
                       &thread->standing.group_node);
    if (group->threads.head.next == &thread->standing.group_node) {
        if (!was_empty) {
            leave_level(queue, group);
        }
        enter_level(queue, group);
    }
}

static void leave_group(struct run_queue *queue, struct run_queue_group *group,
                        struct thread *thread)
{
    bool was_first = group->threads.head.next == &thread->standing.group_node;

    list_remove(&thread->standing.group_node);
    if (was_first) {
        leave_level(queue, group);
        if (!list_is_empty(&group->threads)) {
            enter_level(queue, group);
        }
    }
}

static void join_background(struct run_queue *queue, struct thread *thread, enum place place)
{
    struct list *list = &queue->background[priority_of(thread)];

    if (place == BEHIND_EQUALS) {
        list_push_back(list, &thread->queue_node);
    } else {
        list_push_front(list, &thread->queue_node);
    }
    queue->priorities |= bit(priority_of(thread));
}

static void leave_background(struct run_queue *queue, struct thread *thread)
{
    list_remove(&thread->queue_node);
    if (list_is_empty(&queue->background[priority_of(thread)])) {
        queue->priorities &= ~bit(priority_of(thread));
    }
}

static void insert(struct run_queue *queue, struct run_queue_group *group, struct thread *thread,
                   enum place place)
{
    join_background(queue, thread, place);
    if (group != NULL) {
        join_group(queue, group, thread, place);
    }
}

static void take_out(struct run_queue *queue, struct run_queue_group *group, struct thread *thread)
{
    leave_background(queue, thread);
    if (group != NULL) {
        leave_group(queue, group, thread);
    }
}

void run_queue_add(struct run_queue *queue, struct run_queue_group *group, struct thread *thread)
{
    insert(queue, group, thread, BEHIND_EQUALS);
    queue->count++;
}

void run_queue_remove(struct run_queue *queue, struct run_queue_group *group, struct thread *thread)
{
    take_out(queue, group, thread);
    queue->count--;
}

struct thread *run_queue_pick(const struct run_queue *queue)
{
    const struct list *list;

    if (queue->levels != 0) {
        return in_group(queue->level[highest(queue->levels)]->threads.head.next);
    }
    if (queue->priorities == 0) {
        return NULL;
    }
    list = &queue->background[highest(queue->priorities)];
    return CONTAINER_OF(list->head.next, struct thread, queue_node);
}

/* While the group has a level, its place in the background does not matter, and stays. */
void run_queue_yield(struct run_queue *queue, struct run_queue_group *group, struct thread *thread)
{
    if (group != NULL) {
        list_remove(&thread->standing.group_node);
        list_insert_before(position_in(group, priority_of(thread), BEHIND_EQUALS),
                           &thread->standing.group_node);
    }
    if (group == NULL || group->level == URGENCY_BACKGROUND) {
        list_remove(&thread->queue_node);
        list_push_back(&queue->background[priority_of(thread)], &thread->queue_node);
    }
}

void run_queue_move(struct run_queue *queue, struct thread *thread, struct run_queue_group *from,
                    struct run_queue_group *to, unsigned urgency)
{
    enum place place = urgency > thread_urgency(thread) ? BEHIND_EQUALS : BEFORE_EQUALS;

    take_out(queue, from, thread);
    thread->standing.urgency = urgency;
    insert(queue, to, thread, place);
}

size_t run_queue_count(const struct run_queue *queue)
{
    return queue->count;
}
