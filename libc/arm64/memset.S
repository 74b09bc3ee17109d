/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * memset with general registers, and DC ZVA (which zeroes a whole block, usually 64 bytes) for
 * large zeroing. Normal memory only: DC ZVA and unaligned accesses fault on Device memory, which
 * all memory is while the MMU is off (Arm ARM, "DC ZVA").
 *
 * x0 memory (kept: the result), w1 value, x2 bytes.
 */
#include "function.h"

#define ZERO_BLOCKS_FROM 512

function memset
    and     x1, x1, #0xff
    mov     x3, #0x0101010101010101
    mul     x1, x1, x3
    add     x5, x0, x2              /* end */
    cmp     x2, #64
    b.hi    .Lmore_than_64
    cmp     x2, #16
    b.lo    .Lless_than_16
    stp     x1, x1, [x0]
    stp     x1, x1, [x5, #-16]
    cmp     x2, #32
    b.ls    .Ldone
    stp     x1, x1, [x0, #16]
    stp     x1, x1, [x5, #-32]
.Ldone:
    ret

.Lless_than_16:
    tbz     x2, #3, .Lless_than_8
    str     x1, [x0]
    str     x1, [x5, #-8]
    ret
.Lless_than_8:
    tbz     x2, #2, .Lless_than_4
    str     w1, [x0]
    str     w1, [x5, #-4]
    ret
.Lless_than_4:
    cbz     x2, .Ldone
    lsr     x3, x2, #1              /* first, middle and last byte, which may be the same */
    strb    w1, [x0]
    strb    w1, [x0, x3]
    strb    w1, [x5, #-1]
    ret

.Lmore_than_64:
    cmp     x2, #ZERO_BLOCKS_FROM
    ccmp    x1, #0, #0, hs
    b.eq    .Lzero
.Lstores:
    mov     x3, x0
    sub     x2, x2, #64
.Lturn:
    stp     x1, x1, [x3], #64
    stp     x1, x1, [x3, #-48]
    stp     x1, x1, [x3, #-32]
    stp     x1, x1, [x3, #-16]
    subs    x2, x2, #64
    b.hi    .Lturn
    stp     x1, x1, [x5, #-64]
    stp     x1, x1, [x5, #-48]
    stp     x1, x1, [x5, #-32]
    stp     x1, x1, [x5, #-16]
    ret

.Lzero:
    /* DCZID_EL0: bit 4 prohibits DC ZVA, bits 3:0 are log2 of the block size in words. */
    mrs     x3, dczid_el0
    tbnz    x3, #4, .Lstores
    and     x3, x3, #15
    mov     x4, #4
    lsl     x4, x4, x3              /* block size in bytes */
    cmp     x4, #16
    b.lo    .Lstores                /* the stores below would run over the first block */
    cmp     x2, x4, lsl #1
    b.lo    .Lstores                /* perhaps not one whole block */
    sub     x6, x4, #1
    add     x7, x0, x6
    bic     x7, x7, x6              /* first block border */
    bic     x8, x5, x6              /* last block border */
    mov     x3, x0
.Lup_to_border:
    stp     xzr, xzr, [x3], #16     /* at least once; less than a block too far at most */
    cmp     x3, x7
    b.lo    .Lup_to_border
.Lblock:
    dc      zva, x7
    add     x7, x7, x4
    cmp     x7, x8
    b.lo    .Lblock
    b       .Ltail
.Ltail_turn:
    stp     xzr, xzr, [x7], #16
.Ltail:
    sub     x3, x5, x7
    cmp     x3, #16
    b.hs    .Ltail_turn
    stp     xzr, xzr, [x5, #-16]
    ret
end_function memset
