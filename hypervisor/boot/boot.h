/* SPDX-License-Identifier: BSD-2-Clause */
/* Functions that the boot core executes to set up the monitors. Their code and data are not mapped
 * in the monitors' tables. */
#ifndef BOOT_BOOT_H
#define BOOT_BOOT_H

#include "hypervisor/description.h"
#include "memory/runs.h"
#include "memory/tables.h"
#include <stddef.h>

/* Functions of pools.c. They may be called with the MMU off. */

/* The pool that is selected. All pools have the free memory between the payload and
 * boot_last_pages(). In a system with colours the hypervisor and each partition have a pool of
 * their colours; otherwise there is one pool. */
extern struct page_pool *boot_pool;

/* Makes the pools, and selects the hypervisor's. `start`: begin of the free memory. */
void boot_make_pools(const struct description *system, uint64_t start);
/* Select the pool of a partition, or the hypervisor's. `partition`: index. */
void boot_select_pool_of(const struct description *system, uint32_t partition);
void boot_select_own_pool(void);
/* Returns a pool in which any number of pages follow each other, of all colours. */
struct page_pool *boot_contiguous_pool(const struct description *system);

/* Return the physical address of a struct vcpu or a struct processor, which has a page of its own
 * at the end of the hypervisor's memory. The pages of VCPUs are the last ones, by partition and
 * number of the VCPU; those of the processors precede them, in the order of the description's
 * cores. With colours, each partition's VCPUs have the last pages of its colours, and processors
 * those of the hypervisor's. The tools read the VCPUs' reports there. */
uint64_t boot_vcpu_page(const struct description *system, uint32_t partition, uint32_t number);
uint64_t boot_processor_page(const struct description *system, uint32_t core);
/* Returns the begin of the part of the memory that has all these pages. */
uint64_t boot_last_pages(const struct description *system);

/* Functions of map.c. They may be called with the MMU off. */

/* Prints "the system can't start", `text` and `number`, and halts this core. */
_Noreturn void boot_refuse(const char *text, uint64_t number);
/* Maps a range one to one in the tables at `root`. `start`: the address of a page. `bytes`: rounded
 * up to whole pages; 0 maps nothing. `attributes`: MONITOR_... (memory/tables.h). Calls
 * boot_refuse() on failure. */
void boot_map(uint64_t *root, uint64_t start, uint64_t bytes, uint64_t attributes);
/* Maps a range to [output, output + bytes). As boot_map(). */
void boot_map_to(uint64_t *root, uint64_t start, uint64_t output, uint64_t bytes,
                 uint64_t attributes);
/* Maps a memory of a partition, or the copy of an image, at [start, start + runs->bytes). Calls
 * boot_refuse() on failure. */
void boot_map_runs(uint64_t *root, uint64_t start, const struct runs *runs, uint64_t attributes);
void boot_map_between(uint64_t *root, const char *start, const char *end, uint64_t attributes);
/* Allocates `pages` contiguous zeroed pages of the selected pool, which are never freed, and
 * returns their address. Calls boot_refuse() if the pool has too few. */
uint64_t boot_take(uint64_t pages);

/* early.c: checks the description and the board's memory, and makes the boot core's tables. Returns
 * the address of their root. `devicetree`: X0 at the entry of the image. entry.S calls it with the
 * MMU off. */
uint64_t boot_early(uint64_t devicetree);
/* main.c: initialises the devices, makes partitions and monitors, starts the other cores, and
 * enters this core's monitor. entry.S calls it with the MMU on. */
_Noreturn void boot_main(void);

#endif
