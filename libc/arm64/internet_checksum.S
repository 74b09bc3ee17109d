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

/* x2, and the carry, to 16 bits in w0. */
.macro fold_sum
    adcs    x2, x2, xzr             /* the carry may carry once more, from all ones */
    adc     x2, x2, xzr
    lsr     x3, x2, #32
    adds    w2, w2, w3
    adc     w2, w2, wzr
    lsr     w3, w2, #16
    add     w2, w3, w2, uxth
    add     w2, w2, w2, lsr #16
    and     w0, w2, #0xffff
.endm

function internet_checksum
    lsr     x3, x1, #6
    adds    x2, xzr, xzr            /* sum 0, carry 0 */
    cbz     x3, .Lrest
.Lturn:
    ldp     x4, x5, [x0], #64
    ldp     x6, x7, [x0, #-48]
    ldp     x8, x9, [x0, #-32]
    ldp     x10, x11, [x0, #-16]
    sub     x3, x3, #1
    adcs    x2, x2, x4
    adcs    x2, x2, x5
    adcs    x2, x2, x6
    adcs    x2, x2, x7
    adcs    x2, x2, x8
    adcs    x2, x2, x9
    adcs    x2, x2, x10
    adcs    x2, x2, x11
    cbnz    x3, .Lturn
.Lrest:
    tbz     x1, #5, .Lless_than_32
    ldp     x4, x5, [x0], #32
    ldp     x6, x7, [x0, #-16]
    adcs    x2, x2, x4
    adcs    x2, x2, x5
    adcs    x2, x2, x6
    adcs    x2, x2, x7
.Lless_than_32:
    tbz     x1, #4, .Lless_than_16
    ldp     x4, x5, [x0], #16
    adcs    x2, x2, x4
    adcs    x2, x2, x5
.Lless_than_16:
    tbz     x1, #3, .Lless_than_8
    ldr     x4, [x0], #8
    adcs    x2, x2, x4
.Lless_than_8:
    tbz     x1, #2, .Lless_than_4
    ldr     w4, [x0], #4
    adcs    x2, x2, x4
.Lless_than_4:
    tbz     x1, #1, .Lless_than_2
    ldrh    w4, [x0], #2
    adcs    x2, x2, x4
.Lless_than_2:
    tbz     x1, #0, .Lfold
    ldrb    w4, [x0]
    adcs    x2, x2, x4
.Lfold:
    fold_sum
    ret
end_function internet_checksum

function internet_checksum_copy
    mov     x14, x2
    lsr     x3, x2, #6
    adds    x2, xzr, xzr            /* sum 0, carry 0 */
    cbz     x3, .Lcopy_rest
.Lcopy_turn:
    ldp     x4, x5, [x1], #64
    ldp     x6, x7, [x1, #-48]
    ldp     x8, x9, [x1, #-32]
    ldp     x10, x11, [x1, #-16]
    sub     x3, x3, #1
    stp     x4, x5, [x0], #64
    stp     x6, x7, [x0, #-48]
    stp     x8, x9, [x0, #-32]
    stp     x10, x11, [x0, #-16]
    adcs    x2, x2, x4
    adcs    x2, x2, x5
    adcs    x2, x2, x6
    adcs    x2, x2, x7
    adcs    x2, x2, x8
    adcs    x2, x2, x9
    adcs    x2, x2, x10
    adcs    x2, x2, x11
    cbnz    x3, .Lcopy_turn
.Lcopy_rest:
    tbz     x14, #5, .Lcopy_less_than_32
    ldp     x4, x5, [x1], #32
    ldp     x6, x7, [x1, #-16]
    stp     x4, x5, [x0], #32
    stp     x6, x7, [x0, #-16]
    adcs    x2, x2, x4
    adcs    x2, x2, x5
    adcs    x2, x2, x6
    adcs    x2, x2, x7
.Lcopy_less_than_32:
    tbz     x14, #4, .Lcopy_less_than_16
    ldp     x4, x5, [x1], #16
    stp     x4, x5, [x0], #16
    adcs    x2, x2, x4
    adcs    x2, x2, x5
.Lcopy_less_than_16:
    tbz     x14, #3, .Lcopy_less_than_8
    ldr     x4, [x1], #8
    str     x4, [x0], #8
    adcs    x2, x2, x4
.Lcopy_less_than_8:
    tbz     x14, #2, .Lcopy_less_than_4
    ldr     w4, [x1], #4
    str     w4, [x0], #4
    adcs    x2, x2, x4
.Lcopy_less_than_4:
    tbz     x14, #1, .Lcopy_less_than_2
    ldrh    w4, [x1], #2
    strh    w4, [x0], #2
    adcs    x2, x2, x4
.Lcopy_less_than_2:
    tbz     x14, #0, .Lcopy_fold
    ldrb    w4, [x1]
    strb    w4, [x0]
    adcs    x2, x2, x4
.Lcopy_fold:
    fold_sum
    ret
end_function internet_checksum_copy
