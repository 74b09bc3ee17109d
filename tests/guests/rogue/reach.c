/* SPDX-License-Identifier: BSD-2-Clause */
#include "rogue.h"
#include <arch/mmu.h>

uintptr_t reach(uint64_t address, size_t bytes)
{
    uintptr_t mapped = arch_mmu_map_device(address & ~(PAGE - 1), bytes);

    return mapped + (address & (PAGE - 1));
}
