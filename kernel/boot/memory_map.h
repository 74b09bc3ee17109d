/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The machine's memory, from the devicetree to the page allocator.
 */
#ifndef MEMORY_MAP_H
#define MEMORY_MAP_H

#include <stdbool.h>

/* Maps the whole devicetree at `blob` read-only; its header is mapped already. Returns false if
 * there is no devicetree. Boot. */
bool memory_map_devicetree(const void *blob);

/* Maps all memory of the devicetree that is not reserved, and adds it to the page allocator. Boot,
 * after devicetree_init(). */
void memory_map_init(void);

#endif
