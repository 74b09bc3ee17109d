/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * AArch64's part of <arch/cpu.h>: the small functions that are called often. Citations: Arm
 * Architecture Reference Manual for A-profile, DDI 0487 ("Arm ARM").
 */
#ifndef ARCH_CPU_INLINE_H
#define ARCH_CPU_INLINE_H

#include <stdbool.h>
#include <stdint.h>

struct floating_point_registers;

/*
 * A thread's registers while it does not run. exception/vectors.S and context/context.S get the
 * offsets from layouts.c.
 */
struct arch_context {
    uint64_t x[31];
    uint64_t stack_pointer;
    uint64_t program_counter;
    uint64_t processor_state; /* PSTATE in the format of SPSR_EL1 */
    /* 1: all registers are valid, because an interrupt stored them. 0: the thread called
     * arch_context_switch(), and only the registers that a call preserves are valid (AAPCS64,
     * 6.1.1). */
    uint64_t complete;
    /* Address of the stored floating-point registers while the thread does not run; NULL until it
     * uses them for the first time. */
    struct floating_point_registers *floating_point;
    struct floating_point_registers *area; /* the memory for them, at the top of the stack */
};

/* PSTATE.I: IRQs are masked (Arm ARM, DAIF). */
#define ARCH_INTERRUPTS_MASKED (UINT64_C(1) << 7)

static inline uint64_t arch_interrupts_save(void)
{
    uint64_t state;

    /* PSTATE changes by MSR (immediate) take effect in program order, without an ISB (Arm ARM, "MSR
     * (immediate)"); "memory" keeps the compiler from moving accesses out of the section. */
    __asm__ volatile("mrs %0, daif\n\tmsr daifset, #2" : "=r"(state) : : "memory");
    return state;
}

static inline void arch_interrupts_restore(uint64_t state)
{
    __asm__ volatile("msr daif, %0" : : "r"(state) : "memory");
}

static inline bool arch_interrupts_enabled_in(uint64_t state)
{
    return (state & ARCH_INTERRUPTS_MASKED) == 0;
}

static inline uint64_t arch_clock_ticks(void)
{
    uint64_t ticks;

    /* The ISB keeps the counter from being read early, out of program order (Arm ARM, "The virtual
     * counter"). */
    __asm__ volatile("isb\n\tmrs %0, cntvct_el0" : "=r"(ticks) : : "memory");
    return ticks;
}

#endif
