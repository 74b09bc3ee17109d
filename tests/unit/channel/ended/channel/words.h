/* SPDX-License-Identifier: BSD-2-Clause */
/* Replaces the library's channel/words.h: a test can end the life of a side before any store. */
#ifndef CHANNEL_WORDS_H
#define CHANNEL_WORDS_H

#include <stdint.h>

/* May not return. */
void before_store(void);

static inline uint64_t word_load(const uint64_t *word)
{
    return *word;
}

static inline uint64_t word_load_acquire(const uint64_t *word)
{
    return *word;
}

static inline uint32_t word_load_acquire32(const uint32_t *word)
{
    return *word;
}

static inline void word_store(uint64_t *word, uint64_t value)
{
    before_store();
    *word = value;
}

static inline void word_store_release(uint64_t *word, uint64_t value)
{
    before_store();
    *word = value;
}

static inline void word_fence_release(void)
{
}

static inline void word_fence_acquire(void)
{
}

static inline void word_fence(void)
{
}

#endif
