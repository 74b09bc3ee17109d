/* SPDX-License-Identifier: BSD-2-Clause */
#include "entropy/trng.h"

#include "entropy/generator.h"
#include <arch/hypercalls.h>
#include <stddef.h>

#define TRNG_VERSION_1_0        0x10000
#define TRNG_INVALID_PARAMETERS (-2)
/* Registers of a result: X1 to X3 (DEN0098, TRNG_RND). */
#define RESULTS 3u

/* 9b2b0c5e-6f0d-4e7e-9d0c-3f4b7a1d2e68, as SMCCC returns UUIDs (DEN0028, 5.3): it names this
 * implementation. */
static const uint32_t uuid[4] = {0x5e0c2b9b, 0x7e4e0d6f, 0x4b3f0c9d, 0x682e1d7a};

static int64_t query_feature(uint32_t function)
{
    switch (function) {
    case CALL_TRNG_VERSION:
    case CALL_TRNG_FEATURES:
    case CALL_TRNG_GET_UUID:
    case CALL_TRNG_RND32:
    case CALL_TRNG_RND64:
        return CALL_SUCCESS;
    default:
        return CALL_NOT_SUPPORTED;
    }
}

/* Handles TRNG_RND: writes `bits` random bits to the end of the results, X3 first, and 0 to all
 * other bits. `width`: of a result. */
static int64_t take_bits(struct generator *generator, uint64_t registers[4], uint64_t bits,
                         unsigned width)
{
    uint32_t words[GENERATOR_WORDS];

    if (bits == 0 || bits > (uint64_t)RESULTS * width) {
        return TRNG_INVALID_PARAMETERS;
    }
    generator_take(generator, words);
    for (unsigned i = 0; i < RESULTS; i++) {
        uint64_t value = words[(size_t)2 * i] | (uint64_t)words[(size_t)2 * i + 1] << 32;
        uint64_t left = bits > (uint64_t)i * width ? bits - (uint64_t)i * width : 0;
        uint64_t count = left < width ? left : width;

        registers[RESULTS - i] = count == 0 ? 0 : value >> (64 - count);
    }
    generator_wipe(words, GENERATOR_WORDS);
    return CALL_SUCCESS;
}

int64_t trng_call(struct generator *generator, uint64_t registers[4])
{
    if (!generator->is_seeded) {
        return CALL_NOT_SUPPORTED;
    }
    switch ((uint32_t)registers[0]) {
    case CALL_TRNG_VERSION:
        return TRNG_VERSION_1_0;
    case CALL_TRNG_FEATURES:
        return query_feature((uint32_t)registers[1]);
    case CALL_TRNG_GET_UUID:
        for (unsigned i = 1; i <= RESULTS; i++) {
            registers[i] = uuid[i];
        }
        return uuid[0];
    case CALL_TRNG_RND32:
        return take_bits(generator, registers, (uint32_t)registers[1], 32);
    case CALL_TRNG_RND64:
        return take_bits(generator, registers, registers[1], 64);
    default:
        return CALL_NOT_SUPPORTED;
    }
}
