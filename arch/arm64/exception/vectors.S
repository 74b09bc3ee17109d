/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Exception vectors (Arm ARM, "Exception vectors"). One of the sixteen is part of normal life: an
 * IRQ while a thread runs (EL1 with SP_EL0). Every other one is the end, and is reported from the
 * emergency stack, since no other can be trusted then.
 */
#include "context/context_layout.h"
#include "exception/frame_layout.h"

    .text

/* IRQ from a thread: its registers go to its context, handlers run on the interrupt stack. */
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

    /* A frame record: a backtrace from a handler goes on into the thread (AAPCS64, "The Frame
     * Pointer"). */
    stp x29, x2, [sp, #-16]!
    mov x29, sp
    mov x19, x0
    bl exception_interrupt
    add sp, sp, #16
    cmp x0, x19
    b.eq context_resume
    mov x1, x0
    ldr x2, [x19, #CONTEXT_FLOATING_POINT]
    b context_hand_over
    .size interrupt_entry, . - interrupt_entry

/*
 * The end: all registers into exception_frame. x0 waits in TPIDR_EL0, x1 in TPIDRRO_EL0, which
 * nothing else uses; x0 is the number of the vector.
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
    tst x2, #1 /* M[0]: which stack pointer was in use */
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

    .balign 2048
    .global exception_vectors
exception_vectors:
    /* From EL1 with SP_EL0, a thread: synchronous, IRQ, FIQ, SError. */
    fatal_vector 0
    .balign 128
    b interrupt_entry
    fatal_vector 2
    fatal_vector 3
    /* From EL1 with SP_EL1: boot code or an interrupt handler. */
    fatal_vector 4
    fatal_vector 5
    fatal_vector 6
    fatal_vector 7
    /* From a lower level, where there is nothing: AArch64, then AArch32. */
    fatal_vector 8
    fatal_vector 9
    fatal_vector 10
    fatal_vector 11
    fatal_vector 12
    fatal_vector 13
    fatal_vector 14
    fatal_vector 15

    .section .note.GNU-stack, "", %progbits
