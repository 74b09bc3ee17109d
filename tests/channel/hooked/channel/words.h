/* SPDX-License-Identifier: BSD-2-Clause */
/* Replaces the library's channel/words.h: before each load the malicious peer may change the word.
 */
#ifndef CHANNEL_WORDS_H
#define CHANNEL_WORDS_H

#include "malicious.h"
#include <stdint.h>

static inline uint64_t word_load(const uint64_t *word)
{
    malicious_before_load(word, sizeof(*word));
    return *word;
}

static inline uint64_t word_load_acquire(const uint64_t *word)
{
    malicious_before_load(word, sizeof(*word));
    return *word;
}

static inline uint32_t word_load_acquire32(const uint32_t *word)
{
    malicious_before_load(word, sizeof(*word));
    return *word;
}

static inline void word_store(uint64_t *word, uint64_t value)
{
    *word = value;
}

static inline void word_store_release(uint64_t *word, uint64_t value)
{
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
