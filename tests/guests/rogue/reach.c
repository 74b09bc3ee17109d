/* SPDX-License-Identifier: BSD-2-Clause */
#include "kernel/memory.h"
#include "kernel/print.h"
#include "rogue.h"
#include <arch/mmu.h>

uintptr_t reach(uint64_t address, size_t bytes)
{
    uintptr_t mapped = arch_mmu_map_device(address & ~(PAGE - 1), bytes);

    return mapped + (address & (PAGE - 1));
}

uintptr_t reach_as_memory(uint64_t address)
{
    uint64_t page = address & ~(PAGE - 1);

    (void)arch_mmu_unmap((void *)(uintptr_t)page, PAGE);
    if (arch_mmu_map_memory(page, PAGE) != RESULT_OK) {
        print("FAIL: rogue: can't map %lx\n", (unsigned long)page);
    }
    return address;
}
