/* SPDX-License-Identifier: BSD-2-Clause */
/* unsigned vectors_mark(uint64_t pattern): fills the SIMD registers, and FPSR and FPCR where they
 * allow it; returns how many of v8 to v31 held the pattern before. (Checksums borrow v0 to v5.) */
    .arch armv8-a+fp+simd

    .text
    .global vectors_mark
    .type vectors_mark, %function
vectors_mark:
    mov w1, wzr
    .irp number, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
    mov x2, v\number\().d[1]
    cmp x2, x0
    cinc w1, w1, eq
    dup v\number\().2d, x0
    .endr
    mov w0, w1
    ret
    .size vectors_mark, . - vectors_mark

    .section .note.GNU-stack, "", %progbits
