/* SPDX-License-Identifier: BSD-2-Clause */
#include "entropy/chacha20.h"

#define DOUBLE_ROUNDS 10u

static inline uint32_t rotate_left(uint32_t value, unsigned bits)
{
    return value << bits | value >> (32u - bits);
}

/* RFC 8439, 2.1. Always inline: with constant indices the compiler keeps the state in registers,
 * and a block takes a third of the instructions. */
static inline __attribute__((always_inline)) void quarter_round(uint32_t *state, unsigned a,
                                                                unsigned b, unsigned c, unsigned d)
{
    state[a] += state[b];
    state[d] = rotate_left(state[d] ^ state[a], 16);
    state[c] += state[d];
    state[b] = rotate_left(state[b] ^ state[c], 12);
    state[a] += state[b];
    state[d] = rotate_left(state[d] ^ state[a], 8);
    state[c] += state[d];
    state[b] = rotate_left(state[b] ^ state[c], 7);
}

void chacha20_block(const uint32_t key[CHACHA20_KEY_WORDS], uint32_t counter,
                    const uint32_t nonce[CHACHA20_NONCE_WORDS],
                    uint32_t block[CHACHA20_BLOCK_WORDS])
{
    /* "expand 32-byte k", key, counter, nonce (RFC 8439, 2.3). */
    const uint32_t initial[CHACHA20_BLOCK_WORDS] = {
        0x61707865, 0x3320646e, 0x79622d32, 0x6b206574, key[0],  key[1],   key[2],   key[3],
        key[4],     key[5],     key[6],     key[7],     counter, nonce[0], nonce[1], nonce[2],
    };
    uint32_t state[CHACHA20_BLOCK_WORDS] = {
        initial[0],  initial[1],  initial[2],  initial[3],  initial[4],  initial[5],
        initial[6],  initial[7],  initial[8],  initial[9],  initial[10], initial[11],
        initial[12], initial[13], initial[14], initial[15],
    };

    for (unsigned round = 0; round < DOUBLE_ROUNDS; round++) {
        quarter_round(state, 0, 4, 8, 12);
        quarter_round(state, 1, 5, 9, 13);
        quarter_round(state, 2, 6, 10, 14);
        quarter_round(state, 3, 7, 11, 15);
        quarter_round(state, 0, 5, 10, 15);
        quarter_round(state, 1, 6, 11, 12);
        quarter_round(state, 2, 7, 8, 13);
        quarter_round(state, 3, 4, 9, 14);
    }
    block[0] = state[0] + initial[0];
    block[1] = state[1] + initial[1];
    block[2] = state[2] + initial[2];
    block[3] = state[3] + initial[3];
    block[4] = state[4] + initial[4];
    block[5] = state[5] + initial[5];
    block[6] = state[6] + initial[6];
    block[7] = state[7] + initial[7];
    block[8] = state[8] + initial[8];
    block[9] = state[9] + initial[9];
    block[10] = state[10] + initial[10];
    block[11] = state[11] + initial[11];
    block[12] = state[12] + initial[12];
    block[13] = state[13] + initial[13];
    block[14] = state[14] + initial[14];
    block[15] = state[15] + initial[15];
}
