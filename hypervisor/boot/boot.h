/* SPDX-License-Identifier: BSD-2-Clause */
/* Functions that the boot core executes to set up the monitors. Their code and data are not mapped
 * in the monitors' tables. */
#ifndef BOOT_BOOT_H
#define BOOT_BOOT_H

#include "hypervisor/description.h"
#include "memory/tables.h"
#include <stddef.h>

extern struct page_pool boot_pool; /* free memory between the payload and the processors' pages */

/* Functions of map.c. They may be called with the MMU off. */

/* Returns the physical address of the VCPUs' pages, which are at the end of the hypervisor's
 * memory. Each page holds a struct vcpu. The pages are sorted by partition, then by number of the
 * VCPU. The tools read the VCPUs' reports there. */
uint64_t boot_vcpu_pages(const struct description *system);

/* Returns the physical address of the processors' pages, which precede the VCPUs' pages. Each page
 * holds a struct processor. The pages are in the order of the description's cores. */
uint64_t boot_processor_pages(const struct description *system);

/* Prints "the system can't start", `text` and `number`, and halts this core. */
_Noreturn void boot_refuse(const char *text, uint64_t number);
/* Maps a range one to one in the tables at `root`. `start`: the address of a page. `bytes`: rounded
 * up to whole pages; 0 maps nothing. `attributes`: MONITOR_... (memory/tables.h). Calls
 * boot_refuse() on failure. */
void boot_map(uint64_t *root, uint64_t start, uint64_t bytes, uint64_t attributes);
void boot_map_between(uint64_t *root, const char *start, const char *end, uint64_t attributes);
/* Allocates `pages` contiguous zeroed pages, which are never freed, and returns their address.
 * Calls boot_refuse() if the pool has too few. */
uint64_t boot_take(uint64_t pages);

/* early.c: checks the description and the board's memory, and makes the boot core's tables. Returns
 * the address of their root. `devicetree`: X0 at the entry of the image. entry.S calls it with the
 * MMU off. */
uint64_t boot_early(uint64_t devicetree);
/* main.c: initialises the devices, makes partitions and monitors, starts the other cores, and
 * enters this core's monitor. entry.S calls it with the MMU on. */
_Noreturn void boot_main(void);

#endif
