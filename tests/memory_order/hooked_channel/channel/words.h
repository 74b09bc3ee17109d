/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Replaces the library's channel/words.h with functions of the same names that use weak_memory.h.
 * An order is identified by its kind and by the place in the code that asks for it, so that a test
 * can leave out one at a time.
 */
#ifndef CHANNEL_WORDS_H
#define CHANNEL_WORDS_H

#include "orders.h"
#include "weak_memory.h"

static inline uint64_t word_load(const uint64_t *word)
{
    return model_load(word, sizeof(*word));
}

static inline void word_store(uint64_t *word, uint64_t value)
{
    model_store(word, sizeof(*word), value);
}

#define ORDER_PLACE(order, word) (&(struct order_place){(order), __func__, __LINE__, (word)})

#define word_load_acquire(word) \
    order_load((word), sizeof(uint64_t), ORDER_PLACE(ORDER_ACQUIRE, #word))
#define word_load_acquire32(word) \
    ((uint32_t)order_load((word), sizeof(uint32_t), ORDER_PLACE(ORDER_ACQUIRE, #word)))
#define word_store_release(word, value) \
    order_store((word), sizeof(uint64_t), (value), ORDER_PLACE(ORDER_RELEASE, #word))
#define word_fence_release() order_fence(ORDER_PLACE(ORDER_FENCE_RELEASE, "all"))
#define word_fence_acquire() order_fence(ORDER_PLACE(ORDER_FENCE_ACQUIRE, "all"))
#define word_fence()         order_fence(ORDER_PLACE(ORDER_FENCE_FULL, "all"))

#endif
