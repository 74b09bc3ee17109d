/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef BACKEND_DEADLINE_H
#define BACKEND_DEADLINE_H

#include <stdint.h>

/* Returns the earlier of two deadlines, in nanoseconds since boot (kernel/time.h). */
static inline uint64_t deadline_earlier(uint64_t one, uint64_t other)
{
    return one < other ? one : other;
}

#endif
