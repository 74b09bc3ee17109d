/* SPDX-License-Identifier: BSD-2-Clause */
/* A decoder's computations, repeated in each period. */
#pragma once

#include <stdint.h>

/* Returns the time in nanoseconds, of the same clock as work_until(). */
uint64_t work_clock(void);

/*
 * Works until a time. It is no number of steps because the speed of an emulated processor depends
 * on the others: a load of 90 percent must not become one of 110 percent.
 */
void work_until(uint64_t end);
