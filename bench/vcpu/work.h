/* SPDX-License-Identifier: BSD-2-Clause */
/* Work of a known number of instructions. */
#ifndef VCPU_WORK_H
#define VCPU_WORK_H

#include <stdint.h>

#define WORK_MILLISECOND UINT64_C(1000000) /* in nanoseconds */

/* Executes 2 * `turns` instructions. */
static inline void work(uint32_t turns)
{
    __asm__ volatile("1: subs %w0, %w0, #1\n\tb.ne 1b" : "+r"(turns) : : "cc");
}

#endif
