/* SPDX-License-Identifier: BSD-2-Clause */
/* See violation.h. */
#include "violation.h"
#include <arch/mmu.h>
#include <stdint.h>

/* No board in the tree has anything there. */
#define NOWHERE UINT64_C(0x3000000000)

static volatile uint32_t *nowhere;

bool violation_prepare(void)
{
    uintptr_t mapped = arch_mmu_map_device(NOWHERE, sizeof(uint32_t));

    nowhere = (volatile uint32_t *)mapped;
    return mapped != 0;
}

void violation_make(void)
{
    *nowhere = 0;
}
