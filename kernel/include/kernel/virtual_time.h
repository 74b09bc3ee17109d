/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The time for which the processor has executed this guest. In a partition that shares its core it
 * stands still while other partitions execute, and while this one waits. Reading it costs no exit.
 * Elsewhere it is the same as physical time, time_now().
 */
#ifndef KERNEL_VIRTUAL_TIME_H
#define KERNEL_VIRTUAL_TIME_H

#include "kernel/result.h"
#include <stdint.h>

/* Asks the hypervisor for the virtual time. Returns RESULT_OK, RESULT_UNSUPPORTED if there is no
 * hypervisor or the core is not shared (virtual_time_now() works all the same), or
 * RESULT_NO_MEMORY. Thread context, before the first virtual_time_now(). */
enum result virtual_time_init(void);

/* Returns nanoseconds of virtual time. Monotonic; only differences have a meaning. Any context. */
uint64_t virtual_time_now(void);

#endif
