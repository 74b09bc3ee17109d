/* SPDX-License-Identifier: BSD-2-Clause */
/* Runs instructions that may be undefined, one at a time (instructions.h). */
    .text

    .balign 2048
    .global try_vectors
try_vectors:
    .set offset, 0
    .rept 16
    .balign 128
    mrs x10, esr_el1
    mrs x11, elr_el1
    add x11, x11, #4
    msr elr_el1, x11
    mov x12, #offset
    mrs x13, spsr_el1
    eret
    .set offset, offset + 128
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
    cbz x10, 1f
    adrp x2, try_vector
    str x12, [x2, :lo12:try_vector]
    adrp x2, try_state
    str x13, [x2, :lo12:try_state]
1:
    ldp x29, x30, [sp], #32
    ret
    .size try_code, . - try_code

    .section .note.GNU-stack, "", %progbits
