/* SPDX-License-Identifier: BSD-2-Clause */
/* unsigned vectors_fill(uint64_t pattern): fills v0 to v31 and FPSR; returns how many of the vector
 * registers were not 0 before. */
    .arch armv8-a+fp+simd
    .text
    .global vectors_fill
vectors_fill:
    mov x1, #(3 << 20) /* CPACR_EL1.FPEN */
    msr cpacr_el1, x1
    isb
    mov w1, wzr
    mrs x2, fpsr
    cmp x2, #0
    cinc w1, w1, ne
    .irp number, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
    mov x2, v\number\().d[0]
    mov x3, v\number\().d[1]
    orr x2, x2, x3
    cmp x2, #0
    cinc w1, w1, ne
    dup v\number\().2d, x0
    .endr
    mov x2, #0x1f
    msr fpsr, x2
    mov w0, w1
    ret
