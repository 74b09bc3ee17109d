/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Programs of a header and steps of 4 bytes each, for the fuzzer. Most are random, each of a few
 * kinds of steps only, so that some programs have many steps that belong together (Groce et al.,
 * "Swarm Testing", 2012). The others are those that libFuzzer derives from programs that have
 * reached new code.
 */
#include <stddef.h>
#include <stdint.h>

#define PROGRAM_HEADER 4u
#define STEP_BYTES     4u
#define KINDS_MAX      6u

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t bytes, size_t limit, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t bytes, size_t limit);

static uint8_t next(uint64_t *state)
{
    *state = *state * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (uint8_t)(*state >> 56);
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t bytes, size_t limit, unsigned seed)
{
    uint64_t state = seed;
    uint8_t kinds[KINDS_MAX];
    unsigned count;

    if (limit < PROGRAM_HEADER + STEP_BYTES || next(&state) % 4 == 0) {
        return LLVMFuzzerMutate(data, bytes, limit);
    }
    count = 1 + next(&state) % KINDS_MAX;
    for (unsigned i = 0; i < count; i++) {
        kinds[i] = next(&state);
    }
    bytes =
        PROGRAM_HEADER + next(&state) % ((limit - PROGRAM_HEADER) / STEP_BYTES + 1) * STEP_BYTES;
    for (size_t i = 0; i < bytes; i++) {
        data[i] = next(&state);
        if (i >= PROGRAM_HEADER && (i - PROGRAM_HEADER) % STEP_BYTES == 0) {
            data[i] = kinds[data[i] % count];
        }
    }
    return bytes;
}
