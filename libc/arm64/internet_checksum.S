/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The Internet checksum, 64 bits at a time with end-around carry: the ones' complement sum modulo
 * 2^64 - 1 folds to that modulo 2^16 - 1 (RFC 1071, 2(C)). The carry lives in the flags across the
 * whole function: no instruction between the first addition and the fold sets them but ADCS.
 *
 * internet_checksum: x0 data, x1 bytes; result in w0.
 * internet_checksum_copy: x0 destination, x1 source, x2 bytes; result in w0. Unaligned accesses as
 * in memcpy.S.
 */
#include "function.h"

/* What was loaded is stored, too, in the function that copies. */
.macro store copy, instruction, registers:vararg
    .if \copy
    \instruction \registers
    .endif
.endm

/* x0 source, x1 bytes, x13 destination. */
.macro sum copy
    lsr     x3, x1, #6
    adds    x2, xzr, xzr            /* sum 0, carry 0 */
    cbz     x3, 1f
0:
    ldp     x4, x5, [x0], #64
    ldp     x6, x7, [x0, #-48]
    ldp     x8, x9, [x0, #-32]
    ldp     x10, x11, [x0, #-16]
    sub     x3, x3, #1
    store   \copy, stp, x4, x5, [x13], #64
    store   \copy, stp, x6, x7, [x13, #-48]
    store   \copy, stp, x8, x9, [x13, #-32]
    store   \copy, stp, x10, x11, [x13, #-16]
    adcs    x2, x2, x4
    adcs    x2, x2, x5
    adcs    x2, x2, x6
    adcs    x2, x2, x7
    adcs    x2, x2, x8
    adcs    x2, x2, x9
    adcs    x2, x2, x10
    adcs    x2, x2, x11
    cbnz    x3, 0b
1:
    tbz     x1, #5, 2f
    ldp     x4, x5, [x0], #32
    ldp     x6, x7, [x0, #-16]
    store   \copy, stp, x4, x5, [x13], #32
    store   \copy, stp, x6, x7, [x13, #-16]
    adcs    x2, x2, x4
    adcs    x2, x2, x5
    adcs    x2, x2, x6
    adcs    x2, x2, x7
2:
    tbz     x1, #4, 3f
    ldp     x4, x5, [x0], #16
    store   \copy, stp, x4, x5, [x13], #16
    adcs    x2, x2, x4
    adcs    x2, x2, x5
3:
    tbz     x1, #3, 4f
    ldr     x4, [x0], #8
    store   \copy, str, x4, [x13], #8
    adcs    x2, x2, x4
4:
    tbz     x1, #2, 5f
    ldr     w4, [x0], #4
    store   \copy, str, w4, [x13], #4
    adcs    x2, x2, x4
5:
    tbz     x1, #1, 6f
    ldrh    w4, [x0], #2
    store   \copy, strh, w4, [x13], #2
    adcs    x2, x2, x4
6:
    tbz     x1, #0, 7f
    ldrb    w4, [x0]
    store   \copy, strb, w4, [x13]
    adcs    x2, x2, x4
7:
    adcs    x2, x2, xzr             /* the carry may carry once more, from all ones */
    adc     x2, x2, xzr
    lsr     x3, x2, #32
    adds    w2, w2, w3
    adc     w2, w2, wzr
    lsr     w3, w2, #16
    add     w2, w3, w2, uxth
    add     w2, w2, w2, lsr #16
    and     w0, w2, #0xffff
    ret
.endm

function internet_checksum
    sum     0
end_function internet_checksum

function internet_checksum_copy
    mov     x13, x0
    mov     x0, x1
    mov     x1, x2
    sum     1
end_function internet_checksum_copy
