/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Single accesses to words that both sides of a channel share. The other side may change its words
 * at any time. Each function below is exactly one load or store, which the compiler can neither
 * repeat, split nor omit. Orders are those of C11. Any context.
 *
 * Words are little-endian and naturally aligned. A processor must access 64 bits at once (AArch64,
 * x86-64, Armv7 with LPAE).
 */
#ifndef CHANNEL_WORDS_H
#define CHANNEL_WORDS_H

#include "channel/linkage.h"
#include <stdint.h>

#if __BYTE_ORDER__ != __ORDER_LITTLE_ENDIAN__
#error "words of a channel are little-endian"
#endif

CHANNEL_C_BEGIN

static inline uint64_t word_load(const uint64_t *word)
{
    return __atomic_load_n(word, __ATOMIC_RELAXED);
}

/* Later accesses see all stores that the writer made before it stored the value. */
static inline uint64_t word_load_acquire(const uint64_t *word)
{
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

/* Loads a word of the state table. Later accesses see all stores that its writer made before it
 * stored the value. */
static inline uint32_t word_load_acquire32(const uint32_t *word)
{
    return __atomic_load_n(word, __ATOMIC_ACQUIRE);
}

/* NOLINTBEGIN(readability-non-const-parameter): the builtin writes to it */
static inline void word_store(uint64_t *word, uint64_t value)
{
    __atomic_store_n(word, value, __ATOMIC_RELAXED);
}

/* A side that loads the value with acquire order sees all earlier accesses of this side
 * completed. */
static inline void word_store_release(uint64_t *word, uint64_t value)
{
    __atomic_store_n(word, value, __ATOMIC_RELEASE);
}
/* NOLINTEND(readability-non-const-parameter) */

/* Earlier stores are visible before later stores to words. */
static inline void word_fence_release(void)
{
    __atomic_thread_fence(__ATOMIC_RELEASE);
}

/* Later loads are made after earlier loads of words. */
static inline void word_fence_acquire(void)
{
    __atomic_thread_fence(__ATOMIC_ACQUIRE);
}

/* Earlier stores are visible before later loads are made. If each side stores a word and then loads
 * the other side's word, both sides need this fence. */
static inline void word_fence(void)
{
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

CHANNEL_C_END

#endif
