/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Exception vectors (Arm ARM, "Exception vectors"). The kernel handles an IRQ while a thread runs (EL1
 * with SP_EL0) and the first use of floating-point registers. Every other exception is fatal and is
 * reported on the emergency stack, because no other stack can be trusted then.
 */
#include "arm64_offsets.h"
#include <arch/floating_point.h>
#include <arch/register_values.h>

/* ESR_EL1.EC: use of floating-point or SIMD registers while CPACR_EL1.FPEN traps it. */
#define EC_SHIFT          26
#define EC_BITS           6
#define EC_FLOATING_POINT 0x07

#define VECTOR_HANDLER_SYNCHRONOUS 4

    .arch armv8-a+fp+simd

    .text

/* Handles an IRQ that interrupts a thread: saves the thread's registers in its context, and calls
 * the handlers on the interrupt stack. */
    .type interrupt_entry, %function
interrupt_entry:
    stp x0, x1, [sp, #-16]!
    mrs x0, tpidr_el1
    stp x2, x3, [x0, #(CONTEXT_X + 8 * 2)]
    ldp x2, x3, [sp], #16
    stp x4, x5, [x0, #(CONTEXT_X + 8 * 4)]
    stp x6, x7, [x0, #(CONTEXT_X + 8 * 6)]
    stp x8, x9, [x0, #(CONTEXT_X + 8 * 8)]
    stp x10, x11, [x0, #(CONTEXT_X + 8 * 10)]
    stp x12, x13, [x0, #(CONTEXT_X + 8 * 12)]
    stp x14, x15, [x0, #(CONTEXT_X + 8 * 14)]
    stp x16, x17, [x0, #(CONTEXT_X + 8 * 16)]
    stp x18, x19, [x0, #(CONTEXT_X + 8 * 18)]
    stp x20, x21, [x0, #(CONTEXT_X + 8 * 20)]
    stp x22, x23, [x0, #(CONTEXT_X + 8 * 22)]
    stp x24, x25, [x0, #(CONTEXT_X + 8 * 24)]
    stp x26, x27, [x0, #(CONTEXT_X + 8 * 26)]
    stp x28, x29, [x0, #(CONTEXT_X + 8 * 28)]
    str x30, [x0, #(CONTEXT_X + 8 * 30)]
    stp x2, x3, [x0, #CONTEXT_X]
    mrs x1, sp_el0
    mrs x2, elr_el1
    mrs x3, spsr_el1
    mov x4, #1
    stp x1, x2, [x0, #CONTEXT_STACK_POINTER]
    stp x3, x4, [x0, #CONTEXT_PROCESSOR_STATE]

    /* If the floating-point registers hold the thread's values, a handler that uses them has to
     * trap: floating_point_in_handler saves the values then. */
    ldr x1, [x0, #CONTEXT_FLOATING_POINT]
    cbz x1, 1f
    msr cpacr_el1, xzr
    isb
1:

    /* Makes a frame record, with which a backtrace from a handler continues into the thread
     * (AAPCS64, "The Frame Pointer"). */
    stp x29, x2, [sp, #-16]!
    mov x29, sp
    mov x19, x0
    bl exception_interrupt
    add sp, sp, #16
    ldr x2, [x19, #CONTEXT_FLOATING_POINT]
    cbnz x2, 2f
    cmp x0, x19
    b.eq context_resume
    mov x1, x0
    b context_hand_over

2:  mov x1, x0
    mrs x3, cpacr_el1
    cbnz x3, 3f
    mov x3, #CPACR_FLOATING_POINT
    msr cpacr_el1, x3
    isb
    cmp x0, x19
    b.eq context_resume
    b context_hand_over

    /* A handler has used the registers: the thread's values are in its area, and the registers hold
     * the values of no thread. */
3:  msr cpacr_el1, xzr
    mov x2, xzr
    b context_hand_over
    .size interrupt_entry, . - interrupt_entry

/*
 * Handles a thread's first use of the floating-point registers. From now on they are saved and
 * restored with the thread's other registers. They begin as zeros, because the thread's area is
 * zeroed. TPIDR_EL0 keeps x0, and TPIDRRO_EL0 keeps x1; the code changes only these two registers.
 */
    .type floating_point_in_thread, %function
floating_point_in_thread:
    msr tpidrro_el0, x1
    mrs x0, tpidr_el1
    ldr x1, [x0, #CONTEXT_AREA]
    str x1, [x0, #CONTEXT_FLOATING_POINT]
    mov x0, #CPACR_FLOATING_POINT
    msr cpacr_el1, x0
    isb
    floating_point_load 1, 0
    mrs x0, tpidr_el0
    mrs x1, tpidrro_el0
    eret
    .size floating_point_in_thread, . - floating_point_in_thread

/*
 * Handles an interrupt handler's first use of the floating-point registers. If they hold the
 * interrupted thread's values, saves them to the thread's area. If that thread has not used them,
 * it counts as if it had, so that interrupt_entry loads its zeros. Handlers begin with FPCR 0. x0
 * and x1 are kept as above.
 */
    .type floating_point_in_handler, %function
floating_point_in_handler:
    msr tpidrro_el0, x1
    mrs x1, tpidr_el1
    cbz x1, 2f
    mov x0, #CPACR_FLOATING_POINT
    msr cpacr_el1, x0
    isb
    ldr x0, [x1, #CONTEXT_FLOATING_POINT]
    cbz x0, 1f
    floating_point_save 0, 1
    msr fpcr, xzr
    mrs x0, tpidr_el0
    mrs x1, tpidrro_el0
    eret
1:  ldr x0, [x1, #CONTEXT_AREA]
    str x0, [x1, #CONTEXT_FLOATING_POINT]
    msr fpcr, xzr
    mrs x0, tpidr_el0
    mrs x1, tpidrro_el0
    eret
2:  mrs x1, tpidrro_el0 /* boot code has no thread */
    mov x0, #VECTOR_HANDLER_SYNCHRONOUS
    b fatal_entry
    .size floating_point_in_handler, . - floating_point_in_handler

/*
 * Handles a fatal exception: saves all registers in exception_frame. TPIDR_EL0 has the old x0, and
 * TPIDRRO_EL0 gets the old x1; no other code uses these two. x0 is the number of the vector.
 */
    .type fatal_entry, %function
fatal_entry:
    msr tpidrro_el0, x1
    adrp x1, exception_frame
    add x1, x1, :lo12:exception_frame
    str x0, [x1, #FRAME_VECTOR]
    stp x2, x3, [x1, #(FRAME_X + 8 * 2)]
    mrs x2, tpidr_el0
    mrs x3, tpidrro_el0
    stp x2, x3, [x1, #FRAME_X]
    stp x4, x5, [x1, #(FRAME_X + 8 * 4)]
    stp x6, x7, [x1, #(FRAME_X + 8 * 6)]
    stp x8, x9, [x1, #(FRAME_X + 8 * 8)]
    stp x10, x11, [x1, #(FRAME_X + 8 * 10)]
    stp x12, x13, [x1, #(FRAME_X + 8 * 12)]
    stp x14, x15, [x1, #(FRAME_X + 8 * 14)]
    stp x16, x17, [x1, #(FRAME_X + 8 * 16)]
    stp x18, x19, [x1, #(FRAME_X + 8 * 18)]
    stp x20, x21, [x1, #(FRAME_X + 8 * 20)]
    stp x22, x23, [x1, #(FRAME_X + 8 * 22)]
    stp x24, x25, [x1, #(FRAME_X + 8 * 24)]
    stp x26, x27, [x1, #(FRAME_X + 8 * 26)]
    stp x28, x29, [x1, #(FRAME_X + 8 * 28)]
    str x30, [x1, #(FRAME_X + 8 * 30)]
    mrs x2, spsr_el1
    mrs x3, sp_el0
    tst x2, #1 /* M[0]: the stack pointer that was in use */
    mov x4, sp
    csel x3, x3, x4, eq
    mrs x4, elr_el1
    mrs x5, esr_el1
    mrs x6, far_el1
    stp x3, x4, [x1, #FRAME_STACK_POINTER]
    stp x2, x5, [x1, #FRAME_PROCESSOR_STATE]
    str x6, [x1, #FRAME_ADDRESS]
    adrp x2, emergency_stack_top
    add x2, x2, :lo12:emergency_stack_top
    mov sp, x2
    mov x29, xzr
    mov x30, xzr
    mov x0, x1
    b exception_fatal
    .size fatal_entry, . - fatal_entry

    .macro fatal_vector number
    .balign 128
    msr tpidr_el0, x0
    mov x0, #\number
    b fatal_entry
    .endm

    /* Uses no stack, because the exception may be an overflow of the stack. SPSR_EL1 has the
     * flags. */
    .macro synchronous_vector number, floating_point
    .balign 128
    msr tpidr_el0, x0
    mrs x0, esr_el1
    ubfx x0, x0, #EC_SHIFT, #EC_BITS
    cmp x0, #EC_FLOATING_POINT
    b.eq \floating_point
    mov x0, #\number
    b fatal_entry
    .endm

    .balign 2048
    .global exception_vectors
exception_vectors:
    /* Exceptions from EL1 with SP_EL0, from a thread: synchronous, IRQ, FIQ, SError. */
    synchronous_vector 0, floating_point_in_thread
    .balign 128
    b interrupt_entry
    fatal_vector 2
    fatal_vector 3
    /* Exceptions from EL1 with SP_EL1, from boot code or an interrupt handler. */
    synchronous_vector VECTOR_HANDLER_SYNCHRONOUS, floating_point_in_handler
    fatal_vector 5
    fatal_vector 6
    fatal_vector 7
    /* Exceptions from a lower level, which has no code: AArch64, then AArch32. */
    fatal_vector 8
    fatal_vector 9
    fatal_vector 10
    fatal_vector 11
    fatal_vector 12
    fatal_vector 13
    fatal_vector 14
    fatal_vector 15

    .section .note.GNU-stack, "", %progbits
