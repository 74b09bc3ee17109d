/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Changes of the kernel's translation tables. Addresses are mapped one to one: a pointer is
 * the physical address (in a partition: the intermediate physical address).
 */
#ifndef ARCH_MMU_H
#define ARCH_MMU_H

#include <arch/result.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Maps device registers (Device-nGnRE, never executable). Idempotent. Returns the address to use, 0
 * if table memory is exhausted or the range overlaps normal memory. Thread context. */
uintptr_t arch_mmu_map_device(uint64_t address, size_t bytes);

/* Maps the pages that hold [address, address + bytes) as normal memory: readable and writable, or
 * read-only; never executable. Idempotent. Returns RESULT_OK, RESULT_INVALID (beyond the
 * processor's addresses), RESULT_BUSY (mapped for something else), RESULT_NO_MEMORY (tables).
 * Thread context. */
enum result arch_mmu_map_memory(uint64_t address, size_t bytes);
enum result arch_mmu_map_constants(uint64_t address, size_t bytes);

/* Remove and restore all access to pages of normal memory, for guard pages. Return RESULT_OK, or
 * RESULT_NO_MEMORY (splitting a block needs a table) and have changed nothing. Thread context. */
enum result arch_mmu_unmap(void *pages, size_t bytes);
enum result arch_mmu_remap(void *pages, size_t bytes);

/* Returns true if the page at `address` is mapped. Any context. */
bool arch_mmu_is_mapped(uint64_t address);

/* Returns the first address above the processor's physical address space. */
uint64_t arch_mmu_address_limit(void);

/* Returns the bytes of translation tables in use. */
size_t arch_mmu_table_bytes(void);

#endif
