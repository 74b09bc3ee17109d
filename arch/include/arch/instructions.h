/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The number of instructions that this processor has retired in EL1 and EL0: a measure that does
 * not depend on caches or on other load of the machine.
 */
#ifndef ARCH_INSTRUCTIONS_H
#define ARCH_INSTRUCTIONS_H

#include <stdbool.h>
#include <stdint.h>

/* Starts to count. Returns false if the processor has no such counter, or EL2 reserves it. Thread
 * context. */
bool arch_instructions_start(void);

/* Returns the count, which wraps; 0 if it was not started. Any context. */
uint32_t arch_instructions(void);

#endif
