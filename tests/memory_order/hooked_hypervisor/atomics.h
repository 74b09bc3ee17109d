/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Included before the hypervisor's own files. Replaces the compiler's atomic operations with
 * functions that use weak_memory.h, for words that the test has registered. All other accesses read
 * and write the newest values, because a lock protects them or the test does not depend on them:
 * each store is written to memory, too. An operation that is sequentially consistent counts as
 * relaxed.
 */
#ifndef ATOMICS_H
#define ATOMICS_H

#include "orders.h"
#include "weak_memory.h"
#include <string.h>

/* `place`: NULL, or the place in the code that acquires. */
static inline uint64_t atomics_load(const void *word, unsigned bytes,
                                    const struct order_place *place)
{
    uint64_t value = 0;

    if (model_is_shared(word)) {
        return place != NULL ? order_load(word, bytes, place) : model_load(word, bytes);
    }
    memcpy(&value, word, bytes); /* little-endian */
    return value;
}

/* `place`: NULL, or the place in the code that releases. */
static inline void atomics_store(void *word, unsigned bytes, uint64_t value,
                                 const struct order_place *place)
{
    if (model_is_shared(word) && place != NULL) {
        order_store(word, bytes, value, place);
    } else if (model_is_shared(word)) {
        model_store(word, bytes, value);
    }
    memcpy(word, &value, bytes);
}

/* `acquires`, `releases`: NULL, or the place in the code with this order. */
static inline uint64_t atomics_update(void *word, unsigned bytes, uint64_t keep, uint64_t set,
                                      uint64_t add, const struct order_place *acquires,
                                      const struct order_place *releases)
{
    uint64_t before = 0, after;

    if (model_is_shared(word)) {
        before = order_update(word, bytes, keep, set, add, acquires, releases);
    } else {
        memcpy(&before, word, bytes);
    }
    after = ((before & keep) | set) + add;
    memcpy(word, &after, bytes);
    return before;
}

#define ATOMICS_TYPE(word) __typeof__(*(word) + 0)

/* The places of an operation with this order: NULL if it does not acquire, or release. */
#define ATOMICS_PLACE(order, word) (&(struct order_place){(order), __func__, __LINE__, (word)})
#define ATOMICS_ACQUIRES(word, order)                           \
    ((order) == __ATOMIC_ACQUIRE || (order) == __ATOMIC_ACQ_REL \
         ? ATOMICS_PLACE(ORDER_ACQUIRE, word)                   \
         : NULL)
#define ATOMICS_RELEASES(word, order)                           \
    ((order) == __ATOMIC_RELEASE || (order) == __ATOMIC_ACQ_REL \
         ? ATOMICS_PLACE(ORDER_RELEASE, word)                   \
         : NULL)
#define ATOMICS_UPDATE(word, keep, set, add, order)                                    \
    ((ATOMICS_TYPE(word))atomics_update((word), sizeof(*(word)), (keep), (set), (add), \
                                        ATOMICS_ACQUIRES(#word, order),                \
                                        ATOMICS_RELEASES(#word, order)))

/* The names are the compiler's. NOLINTBEGIN(bugprone-reserved-identifier) */
#define __atomic_load_n(word, order) \
    ((ATOMICS_TYPE(word))atomics_load((word), sizeof(*(word)), ATOMICS_ACQUIRES(#word, order)))
#define __atomic_store_n(word, value, order) \
    atomics_store((word), sizeof(*(word)), (uint64_t)(value), ATOMICS_RELEASES(#word, order))
#define __atomic_exchange_n(word, value, order) ATOMICS_UPDATE(word, 0, (value), 0, order)
#define __atomic_fetch_or(word, value, order)   ATOMICS_UPDATE(word, UINT64_MAX, (value), 0, order)
#define __atomic_fetch_and(word, value, order)  ATOMICS_UPDATE(word, (value), 0, 0, order)
#define __atomic_fetch_add(word, value, order)  ATOMICS_UPDATE(word, UINT64_MAX, 0, (value), order)
#define __atomic_thread_fence(order)                                                     \
    do {                                                                                 \
        MODEL_CHECK((order) == __ATOMIC_SEQ_CST);                                        \
        order_fence(&(struct order_place){ORDER_FENCE_FULL, __func__, __LINE__, "all"}); \
    } while (0)
/* NOLINTEND(bugprone-reserved-identifier) */

#endif
