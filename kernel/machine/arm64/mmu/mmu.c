/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * <arch/mmu.h>: changes of the kernel's translation while it runs. Each change is a section with
 * interrupts masked. The work in a section is bounded by the number of entries that one request
 * writes: 512 for a split, one for each 2 MiB of device registers.
 */
#include <arch/mmu.h>

#include "kernel/interrupt.h"
#include "kernel/memory.h"
#include <arch/mmu_translation.h>

/* Pages kept for the next request: two tables for a page inside a 1 GiB block, and one to spare. */
#define RESERVE_WANTED 3u

/* Refills the reserve. Returns false if memory has run out. Table pages have to be mapped by pages;
 * the split for that may take up to two pages from the reserve. The next page from the allocator
 * then most likely lies in the same block, which is split already. */
static bool reserve_fill(void)
{
    struct translation *translation = mmu_translation();

    while (translation->reserve_count < RESERVE_WANTED) {
        uint64_t *page = page_allocate(1, PAGE_BYTES);
        interrupt_state state;
        bool added;

        if (page == NULL) {
            return false;
        }
        state = interrupts_save();
        added = translation_split(translation, (uintptr_t)page) == RESULT_OK &&
                translation_reserve_add(translation, page);
        interrupts_restore(state);
        if (!added) {
            page_free(page, 1);
            return false;
        }
    }
    return true;
}

/* Maps whole pages for a use, or unmaps them. The reserve may run out, because the range needs more
 * tables than the reserve holds, or because another thread used some. The tables prepared so far
 * then stay, and the next round needs fewer. */
static enum result change(uint64_t address, uint64_t bytes, enum translation_use use)
{
    enum result result;
    bool filled;

    do {
        interrupt_state state;

        filled = reserve_fill();
        state = interrupts_save();
        result = use == TRANSLATION_UNMAPPED
                     ? translation_unmap(mmu_translation(), address, bytes)
                     : translation_map(mmu_translation(), address, bytes, use);
        interrupts_restore(state);
    } while (result == RESULT_NO_MEMORY && filled);
    return result;
}

/* Maps the pages that hold a range. */
static enum result map(uint64_t address, uint64_t bytes, enum translation_use use)
{
    uint64_t limit = arch_mmu_address_limit();
    uint64_t first = address & ~(TRANSLATION_PAGE_BYTES - 1);
    uint64_t end;

    if (bytes == 0 || bytes > limit || address > limit - bytes) {
        return RESULT_INVALID;
    }
    end = (address + bytes + TRANSLATION_PAGE_BYTES - 1) & ~(TRANSLATION_PAGE_BYTES - 1);
    return change(first, end - first, use);
}

uint64_t arch_mmu_address_limit(void)
{
    static const uint8_t bits[] = {32, 36, 40, 42, 44, 48}; /* ID_AA64MMFR0_EL1.PARange */
    uint64_t features;

    __asm__ volatile("mrs %0, id_aa64mmfr0_el1" : "=r"(features));
    features &= 0xf;
    return UINT64_C(1) << (features < sizeof bits ? bits[features] : 48);
}

uintptr_t arch_mmu_map_device(uint64_t address, size_t bytes)
{
    return map(address, bytes, TRANSLATION_DEVICE) == RESULT_OK ? (uintptr_t)address : 0;
}

enum result arch_mmu_map_memory(uint64_t address, size_t bytes)
{
    return map(address, bytes, TRANSLATION_DATA);
}

enum result arch_mmu_map_constants(uint64_t address, size_t bytes)
{
    return map(address, bytes, TRANSLATION_CONSTANTS);
}

enum result arch_mmu_unmap(void *pages, size_t bytes)
{
    return change((uintptr_t)pages, bytes, TRANSLATION_UNMAPPED);
}

enum result arch_mmu_remap(void *pages, size_t bytes)
{
    return arch_mmu_map_memory((uintptr_t)pages, bytes);
}

bool arch_mmu_is_mapped(uint64_t address)
{
    interrupt_state state = interrupts_save();
    enum translation_use use = translation_find(mmu_translation(), address, NULL);

    interrupts_restore(state);
    return use != TRANSLATION_UNMAPPED;
}

size_t arch_mmu_table_bytes(void)
{
    return mmu_translation()->table_count * PAGE_BYTES;
}
