/* SPDX-License-Identifier: BSD-2-Clause */
#include "entropy/generator.h"

#include "entropy/chacha20.h"

_Static_assert(GENERATOR_WORDS == CHACHA20_KEY_WORDS && 2 * GENERATOR_WORDS == CHACHA20_BLOCK_WORDS,
               "a block is a key and an output");

/* Each key is used for one block, so the counter and the nonce are always 0. */
static const uint32_t no_nonce[CHACHA20_NONCE_WORDS];

void generator_wipe(uint32_t *words, unsigned count)
{
    volatile uint32_t *word = words;

    for (unsigned i = 0; i < count; i++) {
        word[i] = 0;
    }
}

void generator_take(struct generator *generator, uint32_t output[GENERATOR_WORDS])
{
    uint32_t block[CHACHA20_BLOCK_WORDS];

    chacha20_block(generator->key, 0, no_nonce, block);
    for (unsigned i = 0; i < GENERATOR_WORDS; i++) {
        generator->key[i] = block[i];
        output[i] = block[GENERATOR_WORDS + i];
    }
    generator_wipe(block, CHACHA20_BLOCK_WORDS);
}

void generator_mix(struct generator *generator, const uint32_t input[GENERATOR_WORDS])
{
    uint32_t unused[GENERATOR_WORDS];

    generator_take(generator, unused);
    generator_wipe(unused, GENERATOR_WORDS);
    for (unsigned i = 0; i < GENERATOR_WORDS; i++) {
        generator->key[i] ^= input[i];
    }
}

void generator_derive(struct generator *parent, struct generator *child)
{
    generator_take(parent, child->key);
    child->is_seeded = parent->is_seeded;
}
