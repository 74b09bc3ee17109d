/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Creates contexts and their stacks; context.S switches between contexts.
 */
#include <arch/context.h>

#include "kernel/memory.h"
#include "kernel/panic.h"
#include "kernel/thread.h"
#include <arch/cpu.h>
#include <arch/floating_point_registers.h>
#include <arch/mmu.h>
#include <arch/register_values.h>
#include <string.h>

/* PSTATE.D: no debug exceptions. */
#define PROCESSOR_STATE_DEBUG_MASKED (UINT64_C(1) << 9)

void arch_context_init(struct arch_context *context, void *stack, size_t stack_bytes,
                       void (*entry)(void *argument), void *argument, bool floating_point)
{
    uintptr_t top = (uintptr_t)stack + stack_bytes - sizeof(struct floating_point_registers);

    memset(context, 0, sizeof(*context)); /* x29 = 0 ends the chain of stack frames */
    context->area = (struct floating_point_registers *)top;
    memset(context->area, 0, sizeof(*context->area));
    if (floating_point) {
        context->floating_point = context->area;
    }
    context->x[0] = (uintptr_t)argument;
    context->x[19] = (uintptr_t)entry;
    context->x[20] = (uintptr_t)thread_exit;
    context->stack_pointer = top;
    context->program_counter = (uintptr_t)context_thread_begin;
    context->processor_state = PROCESSOR_STATE_THREAD | PROCESSOR_STATE_DEBUG_MASKED;
    context->complete = 1;
}

void arch_wait_for_interrupt(void)
{
    /* WFI also wakes for an interrupt that PSTATE masks (Arm ARM, "Wait for Interrupt"). The DSB
     * completes this core's writes before it sleeps. */
    __asm__ volatile("dsb sy\n\twfi" : : : "memory");
}

void *arch_stack_allocate(size_t bytes)
{
    size_t pages = bytes / PAGE_BYTES + 1;
    uint8_t *guard = page_allocate(pages, PAGE_BYTES);

    if (guard == NULL) {
        return NULL;
    }
    if (arch_mmu_unmap(guard, PAGE_BYTES) != RESULT_OK) {
        page_free(guard, pages);
        return NULL;
    }
    return guard + PAGE_BYTES;
}

void arch_stack_free(void *stack, size_t bytes)
{
    uint8_t *guard = (uint8_t *)stack - PAGE_BYTES;

    /* The translation table exists since the page was unmapped, so this allocates no memory. */
    if (arch_mmu_remap(guard, PAGE_BYTES) != RESULT_OK) {
        panic("a stack's guard page is mapped");
    }
    page_free(guard, bytes / PAGE_BYTES + 1);
}
