/* SPDX-License-Identifier: BSD-2-Clause */
/* Instructions that may not be there, one at a time (rogue.h). */
    .text

    .balign 2048
    .global try_vectors
try_vectors:
    .rept 16
    .balign 128
    mrs x10, esr_el1
    mrs x11, elr_el1
    add x11, x11, #4
    msr elr_el1, x11
    eret
    .endr

    .balign 128
    .global try_code
    .type try_code, %function
try_code:
    stp x29, x30, [sp, #-32]!
    mov x29, sp
    str x2, [sp, #16]
    mov x9, x0
    mov x0, x1
    mov x10, #0
    blr x9
    ldr x2, [sp, #16]
    str x10, [x2]
    ldp x29, x30, [sp], #32
    ret
    .size try_code, . - try_code

    .section .note.GNU-stack, "", %progbits
