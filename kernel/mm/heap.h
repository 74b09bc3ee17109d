/* SPDX-License-Identifier: BSD-2-Clause */
/* The heap's side towards the rest of memory management. */
#ifndef MM_HEAP_H
#define MM_HEAP_H

#include "kernel/memory.h"

/* It grows by at least this much, so that small allocations seldom ask for pages. */
#define HEAP_STEP_BYTES ((size_t)32768)

/* An empty heap. Boot. */
void heap_init(void);

/* Fills in the heap_ members. Thread context. */
void heap_count(struct memory_statistics *statistics);

/* For tests: NULL, or what is wrong with the heap's structure. Thread context. */
const char *heap_check(void);

#endif
