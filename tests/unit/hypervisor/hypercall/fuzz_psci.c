/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs the calls of calls.c with libFuzzer, which looks for calls that reach new code. */
#include "psci_calls.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    calls_run(data, bytes);
    return 0;
}
