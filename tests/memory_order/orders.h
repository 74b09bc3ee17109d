/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The memory orders that the channels' code asks for, over weak_memory.h. Each is weakened once, to
 * find out whether a program needs it: an acquire load or a release store becomes a relaxed one, an
 * acquire or release fence disappears, and a full fence becomes a release and an acquire fence.
 */
#ifndef TESTS_MEMORY_ORDER_ORDERS_H
#define TESTS_MEMORY_ORDER_ORDERS_H

#include "weak_memory.h"

enum order {
    ORDER_ACQUIRE,
    ORDER_RELEASE,
    ORDER_FENCE_ACQUIRE,
    ORDER_FENCE_RELEASE,
    ORDER_FENCE_FULL,
};

/* Where the code asks for an order. */
struct order_place {
    enum order order;
    const char *function;
    unsigned line;
    const char *word; /* the expression */
};

/* For hooked_channel/channel/words.h. */
uint64_t order_load(const void *word, unsigned bytes, const struct order_place *place);
void order_store(uint64_t *word, uint64_t value, const struct order_place *place);
void order_fence(const struct order_place *place);

/* A test program, and the most executions that it may have. */
struct order_program {
    struct model_program program;
    uint64_t executions_max;
};

/* Runs the programs with all orders. Fails the test if one of them fails. */
void orders_hold(const struct order_program *programs, unsigned count);

/* Runs the programs with each order weakened, after orders_hold(). Fails the test if no program
 * fails, or if the programs use another number of orders than `orders`. Orders of prepare() do not
 * count. */
void orders_matter(const struct order_program *programs, unsigned count, unsigned orders);

#endif
