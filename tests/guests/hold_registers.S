/* SPDX-License-Identifier: BSD-2-Clause */
/* hold_registers() and hold_vectors(): see check_threads.h. */
#define VECTORS \
    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, \
    26, 27, 28, 29, 30, 31

    .arch armv8-a+fp+simd

/* Fills from the pattern in x0. Changes x2. (Not an assembler macro, in which "\()" has a meaning.) */
#define FILL_VECTORS            \
    .irp number, VECTORS;       \
    add x2, x0, #\number;       \
    mov v\number\().d[0], x2;   \
    mvn x2, x2;                 \
    mov v\number\().d[1], x2;   \
    .endr

/* Adds the number of changed registers to x4. Changes x2 and x3. */
#define COUNT_CHANGED_VECTORS   \
    .irp number, VECTORS;       \
    add x2, x0, #\number;       \
    mov x3, v\number\().d[0];   \
    cmp x2, x3;                 \
    cinc x4, x4, ne;            \
    mvn x2, x2;                 \
    mov x3, v\number\().d[1];   \
    cmp x2, x3;                 \
    cinc x4, x4, ne;            \
    .endr

    .text
    .global hold_registers
    .type hold_registers, %function
hold_registers:
    FILL_VECTORS
    .irp number, 5,6,7,8,9,10,11,12,13,14,15,16,17
    eor x\number, x0, #(1 << \number)
    .endr
    lsl w2, w0, #22 /* FPCR.RMode: two bits of the pattern */
    and w2, w2, #(3 << 22)
    msr fpcr, x2
    mov x4, #0
1:  COUNT_CHANGED_VECTORS
    .irp number, 5,6,7,8,9,10,11,12,13,14,15,16,17
    eor x2, x0, #(1 << \number)
    cmp x2, x\number
    cinc x4, x4, ne
    .endr
    lsl w2, w0, #22
    and w2, w2, #(3 << 22)
    mrs x3, fpcr
    cmp x2, x3
    cinc x4, x4, ne
    subs x1, x1, #1
    b.ne 1b
    msr fpcr, xzr
    mov x0, x4
    ret
    .size hold_registers, . - hold_registers

    .global hold_vectors
    .type hold_vectors, %function
hold_vectors:
    stp x29, x30, [sp, #-32]!
    mov x29, sp
    str x0, [sp, #16]
    FILL_VECTORS
    blr x1
    ldr x0, [sp, #16]
    mov x4, #0
    COUNT_CHANGED_VECTORS
    mov x0, x4
    ldp x29, x30, [sp], #32
    ret
    .size hold_vectors, . - hold_vectors

    .section .note.GNU-stack, "", %progbits
