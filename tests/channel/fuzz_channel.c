/* SPDX-License-Identifier: BSD-2-Clause */
/* libFuzzer's entry: a malicious peer's program. Prints the number of steps at the end. */
#include "malicious.h"
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerTestOneInput(const uint8_t *program, size_t bytes);

static uint64_t steps;

static void print_steps(void)
{
    (void)fprintf(stderr, "steps: %llu\n", (unsigned long long)steps);
}

int LLVMFuzzerTestOneInput(const uint8_t *program, size_t bytes)
{
    if (steps == 0) {
        (void)atexit(print_steps);
        steps = 1;
    }
    steps += malicious_run(program, bytes);
    return 0;
}
