/* SPDX-License-Identifier: BSD-2-Clause */
/* The heap's interface to the rest of memory management. */
#ifndef MM_HEAP_H
#define MM_HEAP_H

#include "kernel/memory.h"

/* The heap grows by at least this much, so that small allocations rarely allocate pages. */
#define HEAP_STEP_BYTES ((size_t)32768)

/* Initialises an empty heap. Boot. */
void heap_init(void);

/* Fills in the heap_ members. Thread context. */
void heap_count(struct memory_statistics *statistics);

/* Checks the heap's structure, for tests. Returns NULL, or a text about the error. Thread context.
 */
const char *heap_check(void);

#endif
