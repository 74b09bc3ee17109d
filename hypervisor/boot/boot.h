/* SPDX-License-Identifier: BSD-2-Clause */
/* What the boot core makes, and hands over. None of it is mapped once the monitors run. */
#ifndef BOOT_BOOT_H
#define BOOT_BOOT_H

#include "hypervisor/description.h"
#include "memory/tables.h"
#include <stddef.h>

extern struct page_pool boot_pool; /* what is behind the image and the description */

/* The cores' own pages, one each in the description's order, end the hypervisor's memory: tools
 * find the reports there. */
static inline uint64_t boot_core_pages(const struct description *system)
{
    return system->board.hypervisor + system->board.hypervisor_bytes -
           system->core_count * PAGE_BYTES;
}

/* map.c, with the MMU off too. */

/* Says why the system can't start, and ends. */
_Noreturn void boot_refuse(const char *text, uint64_t number);
/* Maps whole pages one to one, or refuses. No bytes: nothing. */
void boot_map(uint64_t *root, uint64_t start, uint64_t bytes, uint64_t attributes);
void boot_map_between(uint64_t *root, const char *start, const char *end, uint64_t attributes);
/* Zeroed pages in a row that stay, or refuses. */
uint64_t boot_take(uint64_t pages);

/* early.c, MMU off: the root of the first tables. */
uint64_t boot_early(void);
/* main.c: everything else, and then this core's monitor. */
_Noreturn void boot_main(void);

#endif
