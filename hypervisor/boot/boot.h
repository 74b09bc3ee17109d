/* SPDX-License-Identifier: BSD-2-Clause */
/* What the boot core makes, and hands over. None of it is mapped once the monitors run. */
#ifndef BOOT_BOOT_H
#define BOOT_BOOT_H

#include "hypervisor/description.h"
#include "memory/tables.h"
#include <stddef.h>

struct boot_state {
    struct page_pool pool;
    uint64_t *root; /* the boot core's tables */
};

extern struct boot_state boot_state;

/* The cores' own pages, one each in the description's order, end the hypervisor's memory: tools
 * find the reports there. */
static inline uint64_t boot_core_pages(const struct description *system)
{
    return system->board.hypervisor + system->board.hypervisor_bytes -
           system->core_count * PAGE_BYTES;
}

/* early.c, MMU off: the root of the first tables. */
uint64_t boot_early(void);
/* main.c: everything else, and then this core's monitor. */
_Noreturn void boot_main(void);

#endif
