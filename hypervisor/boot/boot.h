/* SPDX-License-Identifier: BSD-2-Clause */
/* Functions of the boot core, which set up the monitors. Monitors map neither their code nor their
 * data. */
#ifndef BOOT_BOOT_H
#define BOOT_BOOT_H

#include "hypervisor/description.h"
#include "memory/tables.h"
#include <stddef.h>

extern struct page_pool boot_pool; /* memory between the payload and the processors' pages */

/* map.c. These functions may be called with the MMU off. */

/* Returns the address of the VCPUs' pages, which hold struct vcpu, at the end of the hypervisor's
 * memory: those of the first partition, then those of the second, and so on. The tools read the
 * reports there. */
uint64_t boot_vcpu_pages(const struct description *system);

/* Returns the address of the processors' pages, which hold struct processor, in the order of the
 * description's cores, before the VCPUs' pages. */
uint64_t boot_processor_pages(const struct description *system);

/* Prints why the system can't start, and halts this core. */
_Noreturn void boot_refuse(const char *text, uint64_t number);
/* Maps a range one to one. `start`: the address of a page. `bytes`: rounded up to whole pages; 0
 * maps nothing. Calls boot_refuse() on failure. */
void boot_map(uint64_t *root, uint64_t start, uint64_t bytes, uint64_t attributes);
void boot_map_between(uint64_t *root, const char *start, const char *end, uint64_t attributes);
/* Returns the address of `pages` contiguous zeroed pages, which are never freed. Calls
 * boot_refuse() if the pool has too few. */
uint64_t boot_take(uint64_t pages);

/* early.c: checks the description and the board's memory, and makes the boot core's tables. Returns
 * their root. The MMU is off. */
uint64_t boot_early(void);
/* main.c: starts the devices, makes partitions and monitors, starts the other cores, and enters
 * this core's monitor. The MMU is on. */
_Noreturn void boot_main(void);

#endif
