/* SPDX-License-Identifier: BSD-2-Clause */
/* The page allocator's interface to the rest of memory management. */
#ifndef MM_PAGES_H
#define MM_PAGES_H

#include <stddef.h>

/* Maximum number of separate ranges; memory in further ones is not used. */
#define PAGE_RANGES_MAX 32u

/* Removes all ranges. Boot. */
void pages_init(void);

/* Returns the used and free bytes of all ranges. Thread context. */
void pages_count(size_t *used_bytes, size_t *free_bytes);

#endif
