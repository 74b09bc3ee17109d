/* SPDX-License-Identifier: BSD-2-Clause */
/* The block function of ChaCha20 (RFC 8439, 2.3). Its time and its memory accesses depend on no
 * argument. */
#ifndef HYPERVISOR_CHACHA20_H
#define HYPERVISOR_CHACHA20_H

#include <stdint.h>

#define CHACHA20_KEY_WORDS   8u
#define CHACHA20_NONCE_WORDS 3u
#define CHACHA20_BLOCK_WORDS 16u

/* Computes a block. Words are little-endian, as the RFC serializes them. `block` overlaps no other
 * argument. */
void chacha20_block(const uint32_t key[CHACHA20_KEY_WORDS], uint32_t counter,
                    const uint32_t nonce[CHACHA20_NONCE_WORDS],
                    uint32_t block[CHACHA20_BLOCK_WORDS]);

#endif
