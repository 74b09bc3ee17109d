/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * How many instructions this processor has retired in EL1 and EL0: a length that does not depend on
 * caches or on what else the machine does.
 */
#ifndef ARCH_INSTRUCTIONS_H
#define ARCH_INSTRUCTIONS_H

#include <stdbool.h>
#include <stdint.h>

/* Begins to count. False: the processor can't, or leaves its counters to somebody else. Thread
 * context. */
bool arch_instructions_start(void);

/* The count, which wraps; always 0 unless it was begun. Any context. */
uint32_t arch_instructions(void);

#endif
