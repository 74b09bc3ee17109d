/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Replaces the library's channel/words.h for GenMC, with the same orders, except the one in line
 * WEAK_LINE of the file WEAK_FILE, which is left out.
 */
#ifndef CHANNEL_WORDS_H
#define CHANNEL_WORDS_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef WEAK_LINE
#define TEXT_OF(words) #words
#define IS_FILE(name)  (__builtin_strcmp(__FILE_NAME__, TEXT_OF(name)) == 0)
#define IS_WEAK        (__LINE__ == WEAK_LINE && IS_FILE(WEAK_FILE))
#else
#define IS_WEAK false
#endif

static inline uint64_t word_load(const uint64_t *word)
{
    return __atomic_load_n(word, __ATOMIC_RELAXED);
}

static inline void word_store(uint64_t *word, uint64_t value)
{
    __atomic_store_n(word, value, __ATOMIC_RELAXED);
}

#define ACQUIRED(word) \
    (IS_WEAK ? __atomic_load_n(word, __ATOMIC_RELAXED) : __atomic_load_n(word, __ATOMIC_ACQUIRE))
#define FENCE(order)                    \
    do {                                \
        if (!IS_WEAK) {                 \
            atomic_thread_fence(order); \
        }                               \
    } while (false)

#define word_load_acquire(word)   ACQUIRED(word)
#define word_load_acquire32(word) ACQUIRED(word)
#define word_store_release(word, value)                        \
    (IS_WEAK ? __atomic_store_n(word, value, __ATOMIC_RELAXED) \
             : __atomic_store_n(word, value, __ATOMIC_RELEASE))
#define word_fence_release() FENCE(memory_order_release)
#define word_fence_acquire() FENCE(memory_order_acquire)
#define word_fence()         FENCE(memory_order_seq_cst)

#endif
