/* SPDX-License-Identifier: BSD-2-Clause */
/* What kernel/net/random.c asks of the processor: a counter that runs freely. */
#ifndef ARCH_CPU_H
#define ARCH_CPU_H

#include <rtems/counter.h>
#include <stdint.h>

static inline uint64_t arch_clock_ticks(void)
{
    return rtems_counter_read();
}

#endif
