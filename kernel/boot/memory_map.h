/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The machine's memory, from the devicetree to the page allocator.
 */
#ifndef MEMORY_MAP_H
#define MEMORY_MAP_H

#include <stdbool.h>

/* Maps the whole devicetree at `blob`, whose header is mapped, read-only. False if there is none.
 * Boot. */
bool memory_map_devicetree(const void *blob);

/* Maps all memory that the devicetree has and that is not reserved, and gives it to the page
 * allocator. Boot, after devicetree_init(). */
void memory_map_init(void);

#endif
