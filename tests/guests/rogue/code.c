/* SPDX-License-Identifier: BSD-2-Clause */
#include "kernel/interrupt.h"
#include "kernel/memory.h"
#include "rogue.h"
#include <arch/device_access.h>
#include <arch/mmu.h>
#include <arch/mmu_translation.h>

static size_t pages_of(size_t words)
{
    return (words * sizeof(uint32_t) + PAGE_BYTES - 1) / PAGE_BYTES;
}

uint32_t *code_allocate(size_t words)
{
    return page_allocate(pages_of(words), PAGE_BYTES);
}

/* The kernel's own interface never maps memory as executable. This function therefore unmaps the
 * pages and maps them as code directly in the kernel's translation table. */
bool code_finish(uint32_t *code, size_t words)
{
    size_t bytes = pages_of(words) * PAGE_BYTES;
    interrupt_state state;
    enum result result;

    device_publish_uncached(code, bytes);
    if (arch_mmu_unmap(code, bytes) != RESULT_OK) {
        return false;
    }
    state = interrupts_save();
    result = translation_map(mmu_translation(), (uintptr_t)code, bytes, TRANSLATION_CODE);
    interrupts_restore(state);
    __asm__ volatile("ic ialluis\n\tdsb ish\n\tisb" : : : "memory");
    return result == RESULT_OK;
}
