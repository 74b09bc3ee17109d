/* SPDX-License-Identifier: BSD-2-Clause */
/* Vectors for exceptions at EL1 with SP_EL1. The general registers that a C function may change are
 * kept; ELR_EL1 is what guest_exception() returns. */
    .macro forever
    .balign 0x80
    b .
    .endm

    .text
    .balign 0x800
    .global guest_vectors
guest_vectors:
    .rept 4
    forever
    .endr
    .balign 0x80 /* synchronous exception */
    sub sp, sp, #256
    .irp number, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 30
    str x\number, [sp, #8 * \number]
    .endr
    mrs x0, esr_el1
    mrs x1, elr_el1
    bl guest_exception
    msr elr_el1, x0
    b leave
    .rept 11
    forever
    .endr
leave:
    .irp number, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 30
    ldr x\number, [sp, #8 * \number]
    .endr
    add sp, sp, #256
    eret

/* A function that does nothing: it has a breakpoint. */
    .global guest_stop
guest_stop:
    nop
    ret
