/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Doubly linked intrusive list with a sentinel head. Every operation is O(1). A node that is not
 * on a list points to itself (list_node_init), so that removing it twice is harmless.
 * Not synchronised: the owner of the list masks interrupts or holds its lock.
 */
#ifndef KERNEL_LIST_H
#define KERNEL_LIST_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct list_node {
    struct list_node *next;
    struct list_node *previous;
};

struct list {
    struct list_node head;
};

/* Returns the structure of `type` whose `member` is at `pointer`. */
#define CONTAINER_OF(pointer, type, member) \
    ((type *)((uintptr_t)(pointer) - offsetof(type, member)))

static inline void list_node_init(struct list_node *node)
{
    node->next = node;
    node->previous = node;
}

static inline void list_init(struct list *list)
{
    list_node_init(&list->head);
}

static inline bool list_is_empty(const struct list *list)
{
    return list->head.next == &list->head;
}

static inline bool list_node_is_linked(const struct list_node *node)
{
    return node->next != node;
}

static inline void list_insert_before(struct list_node *position, struct list_node *node)
{
    node->next = position;
    node->previous = position->previous;
    position->previous->next = node;
    position->previous = node;
}

static inline void list_push_back(struct list *list, struct list_node *node)
{
    list_insert_before(&list->head, node);
}

static inline void list_push_front(struct list *list, struct list_node *node)
{
    list_insert_before(list->head.next, node);
}

static inline void list_remove(struct list_node *node)
{
    node->next->previous = node->previous;
    node->previous->next = node->next;
    list_node_init(node);
}

/* Returns the first node, or NULL if the list is empty. */
static inline struct list_node *list_first(const struct list *list)
{
    return list_is_empty(list) ? NULL : list->head.next;
}

static inline struct list_node *list_pop_front(struct list *list)
{
    struct list_node *node = list_first(list);

    if (node != NULL) {
        list_remove(node);
    }
    return node;
}

/* Visits every node. The body must not remove the node it visits. */
/* NOLINTBEGIN(bugprone-macro-parentheses): `node` is declared, a name cannot stand in parentheses
 */
#define LIST_FOR_EACH(node, list) \
    for (struct list_node *node = (list)->head.next; node != &(list)->head; node = node->next)
/* NOLINTEND(bugprone-macro-parentheses) */

#endif
