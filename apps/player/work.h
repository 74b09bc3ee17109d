/* SPDX-License-Identifier: BSD-2-Clause */
/* A decoder's computations: a known amount of work, repeated in each period. */
#pragma once

#include <stdint.h>

/*
 * Returns the steps of work that take `percent` of `period_ns` nanoseconds if nothing else executes
 * on the processor. Measures the fastest of many short times, which others disturb the least.
 */
uint64_t work_steps(unsigned percent, uint64_t period_ns);

void work(uint64_t steps);
