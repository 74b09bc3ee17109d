/* SPDX-License-Identifier: BSD-2-Clause */
/* The interface of memory management to boot code. */
#ifndef MM_MEMORY_BOOT_H
#define MM_MEMORY_BOOT_H

#include <stddef.h>

/*
 * Initialises an empty page allocator and heap. Boot, before any page_add_range().
 * memory_statistics() returns the two numbers: all memory of the machine, and the kernel image in
 * memory with its .bss.
 */
void memory_init(size_t ram_bytes, size_t image_bytes);

#endif
