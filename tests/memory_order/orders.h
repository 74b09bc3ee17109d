/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The memory orders in the code, over weak_memory.h. Each is weakened once, to determine
 * whether a program needs it: an acquire load or a release store becomes a relaxed one, an
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

/* A place in the code with a memory order. */
struct order_place {
    enum order order;
    const char *function;
    unsigned line;
    const char *word; /* the expression */
};

/* Access shared words and fence, with the order of the place unless it is weakened. Called by
 * hooked_channel/channel/words.h and hooked_hypervisor/atomics.h. */
uint64_t order_load(const void *word, unsigned bytes, const struct order_place *place);
void order_store(void *word, unsigned bytes, uint64_t value, const struct order_place *place);
void order_fence(const struct order_place *place);

/* Updates a shared word (model_update()). `acquires`, `releases`: NULL, or the place with this
 * order.
 */
uint64_t order_update(void *word, unsigned bytes, uint64_t keep, uint64_t set, uint64_t add,
                      const struct order_place *acquires, const struct order_place *releases);

/* A test program, and the maximum number of its executions. */
struct order_program {
    struct model_program program;
    uint64_t executions_max;
};

/*
 * Runs the programs as two tests: with all orders, when none may fail; and with each order weakened
 * in turn, when one of the programs has to fail. Fails as well if the programs use another number
 * of orders than `orders`, not counting those of prepare(). Returns the exit status of the process,
 * 0 if both tests pass.
 */
int orders_test(const struct order_program *programs, unsigned count, unsigned orders);

#endif
