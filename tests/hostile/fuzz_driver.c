/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The fuzzer's program. libFuzzer looks for programs that reach new code in the driver. Half of the
 * mutations work on whole steps, because shifting a program by a byte changes all of its steps.
 */
#include "hostile.h"
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);
size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t bytes, size_t limit, unsigned seed);
size_t LLVMFuzzerMutate(uint8_t *data, size_t bytes, size_t limit);

static uint64_t programs;
static uint64_t steps;

static void report(void)
{
    (void)fprintf(stderr, "programs: %" PRIu64 ", steps: %" PRIu64 "\n", programs, steps);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    if (programs++ == 0) {
        program_trace(getenv("HOSTILE_TRACE") != NULL);
        (void)atexit(report);
    }
    steps += program_run(data, bytes);
    return 0;
}

static uint32_t next(uint32_t *seed)
{
    *seed = *seed * 1664525u + 1013904223u;
    return *seed >> 8;
}

/* Makes room for `more` steps at step `at`. */
static size_t insert(uint8_t *data, size_t bytes, size_t limit, size_t at, size_t more)
{
    uint8_t *place = data + PROGRAM_HEADER + at * STEP_BYTES;

    if (bytes + more * STEP_BYTES > limit) {
        return 0;
    }
    memmove(place + more * STEP_BYTES, place, bytes - (size_t)(place - data));
    return bytes + more * STEP_BYTES;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t bytes, size_t limit, unsigned seed)
{
    uint32_t state = seed;
    size_t count = bytes < PROGRAM_HEADER ? 0 : (bytes - PROGRAM_HEADER) / STEP_BYTES;
    size_t from;
    size_t to;
    size_t length;
    uint8_t *step;

    if (count == 0 || next(&state) % 2 == 0) {
        return LLVMFuzzerMutate(data, bytes, limit);
    }
    from = next(&state) % count;
    to = next(&state) % count;
    length = 1 + next(&state) % (count - from < 8 ? count - from : 8);
    step = data + PROGRAM_HEADER + from * STEP_BYTES;
    bytes = PROGRAM_HEADER + count * STEP_BYTES;
    switch (next(&state) % 4) {
    case 0: /* removes some steps */
        memmove(step, step + length * STEP_BYTES,
                bytes - (size_t)(step - data) - length * STEP_BYTES);
        return bytes - length * STEP_BYTES;
    case 1: { /* copies a step to another place */
        uint8_t copied[8 * STEP_BYTES];
        size_t longer = insert(data, bytes, limit, to, length);

        if (longer == 0) {
            return LLVMFuzzerMutate(data, bytes, limit);
        }
        memcpy(copied, data + PROGRAM_HEADER + from * STEP_BYTES, length * STEP_BYTES);
        memmove(data + PROGRAM_HEADER + to * STEP_BYTES, copied, length * STEP_BYTES);
        return longer;
    }
    case 2: { /* inserts a new step */
        size_t longer = insert(data, bytes, limit, from, 1);

        if (longer == 0) {
            return LLVMFuzzerMutate(data, bytes, limit);
        }
        bytes = longer;
        break;
    }
    default:
        break;
    }
    /* replaces a step or its operands */
    for (unsigned i = next(&state) % 2; i < STEP_BYTES; i++) {
        step[i] = (uint8_t)next(&state);
    }
    return bytes;
}
