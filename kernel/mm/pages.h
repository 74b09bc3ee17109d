/* SPDX-License-Identifier: BSD-2-Clause */
/* The page allocator's side towards the rest of memory management. */
#ifndef MM_PAGES_H
#define MM_PAGES_H

#include <stddef.h>

/* Ranges that do not touch each other; memory beyond these is left unused. */
#define PAGE_RANGES_MAX 32u

/* Forgets all ranges. Boot. */
void pages_init(void);

/* Of all ranges added. Thread context. */
void pages_count(size_t *used_bytes, size_t *free_bytes);

#endif
