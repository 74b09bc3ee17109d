/* SPDX-License-Identifier: BSD-2-Clause */
/* A complete binary heap of intrusive nodes. Places are numbered as in an array heap: 1 is the
 * root, 2n and 2n + 1 are the children of n; the bits of a number below its highest one
 * are the path from the root. */
#include "time/timer_queue.h"

void timer_queue_init(struct timer_queue *queue)
{
    *queue = (struct timer_queue){.root = NULL, .wait_ended_at = UINT64_MAX};
}

static bool earlier(const struct timer *a, const struct timer *b)
{
    return a->deadline < b->deadline || (a->deadline == b->deadline && a->sequence < b->sequence);
}

/* Returns the pointer to place `number`, which is in a parent or in the queue. *parent gets the
 * parent.
 */
static struct timer **link_to(struct timer_queue *queue, size_t number, struct timer **parent)
{
    struct timer **link = &queue->root;
    unsigned depth = 63u - (unsigned)__builtin_clzll(number);

    *parent = NULL;
    while (depth > 0) {
        depth--;
        *parent = *link;
        link = (number >> depth & 1u) != 0 ? &(*link)->right : &(*link)->left;
    }
    return link;
}

/* Makes the pointer that leads to `timer` lead to `replacement`. */
static void relink(struct timer_queue *queue, const struct timer *timer, struct timer *replacement)
{
    struct timer *parent = timer->parent;

    if (parent == NULL) {
        queue->root = replacement;
    } else if (parent->left == timer) {
        parent->left = replacement;
    } else {
        parent->right = replacement;
    }
}

static void set_children(struct timer *timer, struct timer *left, struct timer *right)
{
    timer->left = left;
    timer->right = right;
    if (left != NULL) {
        left->parent = timer;
    }
    if (right != NULL) {
        right->parent = timer;
    }
}

/* Exchanges `child` with its parent. */
static void lift(struct timer_queue *queue, struct timer *child)
{
    struct timer *parent = child->parent;
    struct timer *left = child->left;
    struct timer *right = child->right;

    relink(queue, parent, child);
    child->parent = parent->parent;
    if (parent->left == child) {
        set_children(child, parent, parent->right);
    } else {
        set_children(child, parent->left, parent);
    }
    set_children(parent, left, right);
}

static void sift_up(struct timer_queue *queue, struct timer *timer)
{
    while (timer->parent != NULL && earlier(timer, timer->parent)) {
        lift(queue, timer);
    }
}

static void sift_down(struct timer_queue *queue, struct timer *timer)
{
    for (;;) {
        struct timer *least = timer;

        if (timer->left != NULL && earlier(timer->left, least)) {
            least = timer->left;
        }
        if (timer->right != NULL && earlier(timer->right, least)) {
            least = timer->right;
        }
        if (least == timer) {
            return;
        }
        lift(queue, least);
    }
}

void timer_queue_insert(struct timer_queue *queue, struct timer *timer)
{
    queue->count++;
    struct timer **link = link_to(queue, queue->count, &timer->parent);

    *link = timer;
    timer->left = NULL;
    timer->right = NULL;
    timer->sequence = queue->next_sequence++;
    timer->armed = true;
    sift_up(queue, timer);
}

void timer_queue_remove(struct timer_queue *queue, struct timer *timer)
{
    struct timer *parent;
    struct timer **link = link_to(queue, queue->count, &parent);
    struct timer *last = *link;

    *link = NULL;
    queue->count--;
    timer->armed = false;
    if (last == timer) {
        return;
    }
    relink(queue, timer, last);
    last->parent = timer->parent;
    set_children(last, timer->left, timer->right);
    sift_up(queue, last);
    sift_down(queue, last);
}

struct timer *timer_queue_pop_due(struct timer_queue *queue, uint64_t now, uint64_t sequence_end)
{
    struct timer *timer = queue->root;

    if (timer == NULL || timer->deadline > now || timer->sequence >= sequence_end) {
        return NULL;
    }
    timer_queue_remove(queue, timer);
    return timer;
}
