/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Switches between threads: arch_context_switch() for threads, context_resume for interrupts.
 * TPIDR_EL1 points to the running thread's struct arch_context. Threads run on SP_EL0 ("EL1t").
 * SP_EL1 is the top of the interrupt stack whenever a thread runs.
 */
#include "arm64_offsets.h"
#include <arch/floating_point.h>
#include <arch/register_values.h>

    .arch armv8-a+fp+simd

/*
 * Gives the floating-point registers to another thread. x2 is the area of the thread that stops, x3
 * the area of the thread that continues. Either is NULL if the thread has not used the registers.
 * Access to the registers is enabled if x2 is an area, and afterwards if x3 is an area. The caller
 * makes a context synchronization event before code of the next thread, so that CPACR_EL1 has taken
 * effect. Changes x2 to x4.
 */
    .macro floating_point_switch
    cmp x2, x3
    b.eq 9f /* x2 and x3 are NULL, or the same thread continues */
    cbz x2, 7f
    floating_point_save 2, 4
    cbnz x3, 8f
    msr cpacr_el1, xzr
    b 9f
7:  mov x4, #CPACR_FLOATING_POINT
    msr cpacr_el1, x4
    isb
8:  floating_point_load 3, 4
9:
    .endm

    .text

/* void arch_context_switch(struct arch_context *from, struct arch_context *to) */
    .global arch_context_switch
    .type arch_context_switch, %function
arch_context_switch:
    stp x19, x20, [x0, #(CONTEXT_X + 8 * 19)]
    stp x21, x22, [x0, #(CONTEXT_X + 8 * 21)]
    stp x23, x24, [x0, #(CONTEXT_X + 8 * 23)]
    stp x25, x26, [x0, #(CONTEXT_X + 8 * 25)]
    stp x27, x28, [x0, #(CONTEXT_X + 8 * 27)]
    stp x29, x30, [x0, #(CONTEXT_X + 8 * 29)]
    mov x2, sp
    stp x2, x30, [x0, #CONTEXT_STACK_POINTER]
    /* The state is complete enough for context_resume to continue the thread, too: with the present
     * masks, at the return address. */
    mrs x2, daif
    mov x3, #PROCESSOR_STATE_THREAD
    orr x2, x2, x3
    stp x2, xzr, [x0, #CONTEXT_PROCESSOR_STATE] /* and `complete` is 0 */

    ldr x2, [x0, #CONTEXT_FLOATING_POINT]
    ldr x3, [x1, #CONTEXT_FLOATING_POINT]
    floating_point_switch

    ldr x2, [x1, #CONTEXT_COMPLETE]
    cbnz x2, 1f
    msr tpidr_el1, x1
    isb
    ldp x19, x20, [x1, #(CONTEXT_X + 8 * 19)]
    ldp x21, x22, [x1, #(CONTEXT_X + 8 * 21)]
    ldp x23, x24, [x1, #(CONTEXT_X + 8 * 23)]
    ldp x25, x26, [x1, #(CONTEXT_X + 8 * 25)]
    ldp x27, x28, [x1, #(CONTEXT_X + 8 * 27)]
    ldp x29, x30, [x1, #(CONTEXT_X + 8 * 29)]
    ldr x2, [x1, #CONTEXT_STACK_POINTER]
    mov sp, x2
    ret
1:  msr spsel, #1
    mov x0, x1
    b context_resume
    .size arch_context_switch, . - arch_context_switch

/* _Noreturn void arch_context_start(struct arch_context *first) */
    .global arch_context_start
    .type arch_context_start, %function
arch_context_start:
    adrp x1, interrupt_stack_top
    add x1, x1, :lo12:interrupt_stack_top
    mov sp, x1
    mov x2, xzr
    mov x1, x0
    b context_hand_over
    .size arch_context_start, . - arch_context_start

/*
 * Continues the thread of context x1, after a thread whose floating-point area is x2. Called on
 * SP_EL1, which is at the top of the interrupt stack.
 */
    .global context_hand_over
    .type context_hand_over, %function
context_hand_over:
    ldr x3, [x1, #CONTEXT_FLOATING_POINT]
    floating_point_switch
    mov x0, x1
    .size context_hand_over, . - context_hand_over

/* Continues the thread of context x0, whether `complete` is set or not: registers that are not
 * valid are loaded, too, without an effect. */
    .global context_resume
    .type context_resume, %function
context_resume:
    msr tpidr_el1, x0
    ldp x1, x2, [x0, #CONTEXT_STACK_POINTER]
    ldr x3, [x0, #CONTEXT_PROCESSOR_STATE]
    msr sp_el0, x1
    msr elr_el1, x2
    msr spsr_el1, x3
    ldp x2, x3, [x0, #(CONTEXT_X + 8 * 2)]
    ldp x4, x5, [x0, #(CONTEXT_X + 8 * 4)]
    ldp x6, x7, [x0, #(CONTEXT_X + 8 * 6)]
    ldp x8, x9, [x0, #(CONTEXT_X + 8 * 8)]
    ldp x10, x11, [x0, #(CONTEXT_X + 8 * 10)]
    ldp x12, x13, [x0, #(CONTEXT_X + 8 * 12)]
    ldp x14, x15, [x0, #(CONTEXT_X + 8 * 14)]
    ldp x16, x17, [x0, #(CONTEXT_X + 8 * 16)]
    ldp x18, x19, [x0, #(CONTEXT_X + 8 * 18)]
    ldp x20, x21, [x0, #(CONTEXT_X + 8 * 20)]
    ldp x22, x23, [x0, #(CONTEXT_X + 8 * 22)]
    ldp x24, x25, [x0, #(CONTEXT_X + 8 * 24)]
    ldp x26, x27, [x0, #(CONTEXT_X + 8 * 26)]
    ldp x28, x29, [x0, #(CONTEXT_X + 8 * 28)]
    ldr x30, [x0, #(CONTEXT_X + 8 * 30)]
    ldp x0, x1, [x0, #CONTEXT_X]
    eret
    .size context_resume, . - context_resume

/* The first instructions of a new thread. x19: its entry function; x0: the argument; x20: the
 * function that ends the thread after the entry function has returned. */
    .global context_thread_begin
    .type context_thread_begin, %function
context_thread_begin:
    blr x19
    blr x20
    .size context_thread_begin, . - context_thread_begin

    .section .note.GNU-stack, "", %progbits
