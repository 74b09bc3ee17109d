/* SPDX-License-Identifier: BSD-2-Clause */
/* The host's part of <arch/cpu.h>: threads are user contexts, interrupts are calls
 * (arch/host_machine.h). */
#ifndef ARCH_CPU_INLINE_H
#define ARCH_CPU_INLINE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <ucontext.h>

struct arch_context {
    ucontext_t registers;
    void (*run)(struct arch_context *context); /* called by the first function on the stack */
    void (*entry)(void *argument);
    void *argument;
    /* For the address sanitizer: */
    const void *stack;
    size_t stack_bytes;
    void *fake_stack;
};

uint64_t arch_interrupts_save(void);
void arch_interrupts_restore(uint64_t state);
bool arch_interrupts_enabled_in(uint64_t state);
uint64_t arch_clock_ticks(void);

#endif
