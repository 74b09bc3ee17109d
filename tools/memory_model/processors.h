/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The processor that executes a callback. Without a thread for each processor, as under -icount,
 * QEMU 10 gives callbacks the number of the processor that it translated the block for. So this
 * reads QEMU's variable `current_cpu`, which QEMU exports to its modules.
 */
#ifndef MEMORY_MODEL_PROCESSORS_H
#define MEMORY_MODEL_PROCESSORS_H

#include <stdbool.h>
#include <stdint.h>

/* Finds the variable. Returns false if QEMU does not export it. In the thread of the processors, in
 * the callback of a processor's start; it may be called again. */
bool processors_find(void);

/* Returns the number of the executing processor: 0 for the first one that has called, 1 for the
 * next, and so on, at most PROCESSORS_MAX (model_limits.h), which is too many. In any callback of
 * an instruction. */
uint32_t processors_executing(void);

#endif
