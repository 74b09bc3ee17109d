/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Included before the hypervisor's own files. Replaces the compiler's atomic operations with
 * functions that use weak_memory.h, for words that the test has registered. The files use relaxed
 * ones and full fences. All other accesses read and write the newest values, because a lock
 * protects them or the test does not depend on them: each store is written to memory, too.
 */
#ifndef ATOMICS_H
#define ATOMICS_H

#include "orders.h"
#include "weak_memory.h"
#include <string.h>

static inline uint64_t atomics_load(const void *word, unsigned bytes, int order)
{
    uint64_t value = 0;

    MODEL_CHECK(order == __ATOMIC_RELAXED);
    if (model_is_shared(word)) {
        return model_load(word, bytes);
    }
    memcpy(&value, word, bytes); /* little-endian */
    return value;
}

static inline void atomics_store(void *word, unsigned bytes, uint64_t value, int order)
{
    MODEL_CHECK(order == __ATOMIC_RELAXED);
    if (model_is_shared(word)) {
        model_store(word, bytes, value);
    }
    memcpy(word, &value, bytes);
}

static inline uint64_t atomics_update(void *word, unsigned bytes, uint64_t keep, uint64_t set,
                                      uint64_t add, int order)
{
    uint64_t before = 0, after;

    MODEL_CHECK(order == __ATOMIC_RELAXED);
    if (model_is_shared(word)) {
        before = model_update(word, bytes, keep, set, add);
    } else {
        memcpy(&before, word, bytes);
    }
    after = ((before & keep) | set) + add;
    memcpy(word, &after, bytes);
    return before;
}

#define ATOMICS_TYPE(word) __typeof__(*(word) + 0)

/* The names are the compiler's. NOLINTBEGIN(bugprone-reserved-identifier) */
#define __atomic_load_n(word, order) \
    ((ATOMICS_TYPE(word))atomics_load((word), sizeof(*(word)), (order)))
#define __atomic_store_n(word, value, order) \
    atomics_store((word), sizeof(*(word)), (uint64_t)(value), (order))
#define __atomic_exchange_n(word, value, order) \
    ((ATOMICS_TYPE(word))atomics_update((word), sizeof(*(word)), 0, (value), 0, (order)))
#define __atomic_fetch_or(word, value, order) \
    ((ATOMICS_TYPE(word))atomics_update((word), sizeof(*(word)), UINT64_MAX, (value), 0, (order)))
#define __atomic_fetch_and(word, value, order) \
    ((ATOMICS_TYPE(word))atomics_update((word), sizeof(*(word)), (value), 0, 0, (order)))
#define __atomic_fetch_add(word, value, order) \
    ((ATOMICS_TYPE(word))atomics_update((word), sizeof(*(word)), UINT64_MAX, 0, (value), (order)))
#define __atomic_thread_fence(order)                                                     \
    do {                                                                                 \
        MODEL_CHECK((order) == __ATOMIC_SEQ_CST);                                        \
        order_fence(&(struct order_place){ORDER_FENCE_FULL, __func__, __LINE__, "all"}); \
    } while (0)
/* NOLINTEND(bugprone-reserved-identifier) */

#endif
