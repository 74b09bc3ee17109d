/* SPDX-License-Identifier: BSD-2-Clause */
/* libFuzzer's entry: a malicious peer's program. Prints the number of steps at the end. */
#include "malicious.h"
#include <stdio.h>
#include <stdlib.h>

int LLVMFuzzerInitialize(int *count, char ***arguments);
int LLVMFuzzerTestOneInput(const uint8_t *program, size_t bytes);

static uint64_t steps;

static void print_steps(void)
{
    fprintf(stderr, "steps: %llu\n", (unsigned long long)steps);
}

int LLVMFuzzerInitialize(int *count, char ***arguments)
{
    (void)count;
    (void)arguments;
    return atexit(print_steps);
}

int LLVMFuzzerTestOneInput(const uint8_t *program, size_t bytes)
{
    steps += malicious_run(program, bytes);
    return 0;
}
