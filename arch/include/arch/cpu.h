/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The kernel's interface to the processor. One implementation is linked: arch/arm64 with
 * kernel/machine/arm64 for guests, kernel/machine/host for unit tests (threads on ucontext, a clock
 * that tests set). Small, frequent functions are inline in <arch/cpu_inline.h>, found through the
 * include path.
 */
#ifndef ARCH_CPU_H
#define ARCH_CPU_H

#include <arch/cpu_inline.h> /* struct arch_context; arch_interrupts_save/restore; arch_clock_ticks */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/*
 * <arch/cpu_inline.h> defines:
 *   struct arch_context                    a suspended thread's registers
 *   uint64_t arch_interrupts_save(void)    masks IRQ on this core, returns the previous state; a
 *                                          compiler barrier
 *   void arch_interrupts_restore(uint64_t)
 *   bool arch_interrupts_enabled_in(uint64_t)  true if that state had IRQ enabled
 *   uint64_t arch_clock_ticks(void)        the free-running counter
 */

/* Prepares a context that will call entry(argument) on the stack [stack, stack + bytes), with
 * interrupts enabled, and thread_exit() if entry returns. */
void arch_context_init(struct arch_context *context, void *stack, size_t stack_bytes,
                       void (*entry)(void *argument), void *argument, bool floating_point);

/* Saves the calling thread in `from` and continues `to`; returns when `from` is continued. Called
 * in thread context with interrupts masked; they are masked when it returns. */
void arch_context_switch(struct arch_context *from, struct arch_context *to);

/* Starts the first thread. The boot stack is not used any more. Interrupts masked. */
_Noreturn void arch_context_start(struct arch_context *first);

/* Sleeps until an interrupt is pending. The idle thread calls it with interrupts masked; they are
 * masked when it returns. */
void arch_wait_for_interrupt(void);

/* Returns the frequency of the counter in Hz; constant after boot, not 0. */
uint64_t arch_clock_frequency(void);
/* Raises the clock interrupt when the counter reaches `ticks` (at once if it has; UINT64_MAX:
 * never). The handler calls alarm_expired() (kernel/sched/alarm.h). Interrupts masked. */
void arch_clock_alarm(uint64_t ticks);

/* Allocates a stack of `bytes`, a multiple of the page size, with an unmapped guard page below it.
 * Returns NULL if memory is exhausted. Thread context. */
void *arch_stack_allocate(size_t bytes);
void arch_stack_free(void *stack, size_t bytes);

#endif
