/* SPDX-License-Identifier: BSD-2-Clause */
#include "entropy/chacha20.h"

#define COLUMNS       4u
#define DOUBLE_ROUNDS 10u

/* "expand 32-byte k" (RFC 8439, 2.3). */
static const uint32_t constants[COLUMNS] = {0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};

static uint32_t rotate_left(uint32_t value, unsigned bits)
{
    return value << bits | value >> (32u - bits);
}

/* RFC 8439, 2.1. */
static void quarter_round(uint32_t *a, uint32_t *b, uint32_t *c, uint32_t *d)
{
    *a += *b;
    *d = rotate_left(*d ^ *a, 16);
    *c += *d;
    *b = rotate_left(*b ^ *c, 12);
    *a += *b;
    *d = rotate_left(*d ^ *a, 8);
    *c += *d;
    *b = rotate_left(*b ^ *c, 7);
}

/* Returns a word of the initial state: constants, key, counter, nonce. */
static uint32_t initial_word(const uint32_t *key, uint32_t counter, const uint32_t *nonce,
                             unsigned index)
{
    if (index < COLUMNS) {
        return constants[index];
    }
    index -= COLUMNS;
    if (index < CHACHA20_KEY_WORDS) {
        return key[index];
    }
    index -= CHACHA20_KEY_WORDS;
    return index == 0 ? counter : nonce[index - 1];
}

void chacha20_block(const uint32_t key[CHACHA20_KEY_WORDS], uint32_t counter,
                    const uint32_t nonce[CHACHA20_NONCE_WORDS],
                    uint32_t block[CHACHA20_BLOCK_WORDS])
{
    uint32_t *rows[COLUMNS] = {block, block + COLUMNS, block + 2 * COLUMNS, block + 3 * COLUMNS};

    for (unsigned i = 0; i < CHACHA20_BLOCK_WORDS; i++) {
        block[i] = initial_word(key, counter, nonce, i);
    }
    for (unsigned round = 0; round < 2 * DOUBLE_ROUNDS; round++) {
        unsigned shift = round % 2; /* rounds alternate between columns and diagonals */

        for (unsigned i = 0; i < COLUMNS; i++) {
            quarter_round(&rows[0][i], &rows[1][(i + shift) % COLUMNS],
                          &rows[2][(i + 2 * shift) % COLUMNS], &rows[3][(i + 3 * shift) % COLUMNS]);
        }
    }
    for (unsigned i = 0; i < CHACHA20_BLOCK_WORDS; i++) {
        block[i] += initial_word(key, counter, nonce, i);
    }
}
