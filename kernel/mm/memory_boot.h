/* SPDX-License-Identifier: BSD-2-Clause */
/* What boot code tells memory management. */
#ifndef MM_MEMORY_BOOT_H
#define MM_MEMORY_BOOT_H

#include <stddef.h>

/*
 * Boot, before any page_add_range(): empty page allocator and heap. The numbers are for
 * memory_statistics(): all memory of the machine, and the kernel image in memory with its .bss.
 */
void memory_init(size_t ram_bytes, size_t image_bytes);

#endif
