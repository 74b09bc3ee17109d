/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Runs the traffic of test_traffic.c with libFuzzer, which looks for traffic that reaches new code.
 */
#include "traffic.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t bytes)
{
    traffic_run(data, bytes);
    return 0;
}
