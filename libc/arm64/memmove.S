/* SPDX-License-Identifier: BSD-2-Clause */
/* memmove: uses memcpy where that is safe, otherwise copies in 64-byte steps in the safe direction.
 * Normal memory only, as memcpy.
 * 
 * x0 destination (kept: the result), x1 source, x2 bytes. */
#include "function.h"

/* Copies `bytes` upwards, from x1 to x3, if bit `bit` of x2 is set. */
.macro upwards bit, bytes
    tbz     x2, #\bit, 1f
    .if \bytes == 32
    ldp     x4, x5, [x1], #32
    ldp     x6, x7, [x1, #-16]
    stp     x4, x5, [x3], #32
    stp     x6, x7, [x3, #-16]
    .elseif \bytes == 16
    ldp     x4, x5, [x1], #16
    stp     x4, x5, [x3], #16
    .elseif \bytes == 8
    ldr     x4, [x1], #8
    str     x4, [x3], #8
    .elseif \bytes == 4
    ldr     w4, [x1], #4
    str     w4, [x3], #4
    .elseif \bytes == 2
    ldrh    w4, [x1], #2
    strh    w4, [x3], #2
    .else
    ldrb    w4, [x1], #1
    strb    w4, [x3], #1
    .endif
1:
.endm

/* The same downwards. */
.macro downwards bit, bytes
    tbz     x2, #\bit, 1f
    .if \bytes == 32
    ldp     x4, x5, [x1, #-16]
    ldp     x6, x7, [x1, #-32]!
    stp     x4, x5, [x3, #-16]
    stp     x6, x7, [x3, #-32]!
    .elseif \bytes == 16
    ldp     x4, x5, [x1, #-16]!
    stp     x4, x5, [x3, #-16]!
    .elseif \bytes == 8
    ldr     x4, [x1, #-8]!
    str     x4, [x3, #-8]!
    .elseif \bytes == 4
    ldr     w4, [x1, #-4]!
    str     w4, [x3, #-4]!
    .elseif \bytes == 2
    ldrh    w4, [x1, #-2]!
    strh    w4, [x3, #-2]!
    .else
    ldrb    w4, [x1, #-1]!
    strb    w4, [x3, #-1]!
    .endif
1:
.endm

function memmove
    cmp     x2, #64
    b.ls    memcpy                  /* it loads everything first */
    sub     x3, x0, x1
    cmp     x3, x2
    b.lo    .Ldownwards             /* the destination begins inside the source */
    neg     x3, x3
    cmp     x3, #64
    b.hs    memcpy                  /* no step of its writes what a later one reads */

    mov     x3, x0
.Lupwards_turn:
    ldp     x4, x5, [x1], #64
    ldp     x6, x7, [x1, #-48]
    ldp     x8, x9, [x1, #-32]
    ldp     x10, x11, [x1, #-16]
    stp     x4, x5, [x3], #64
    stp     x6, x7, [x3, #-48]
    stp     x8, x9, [x3, #-32]
    stp     x10, x11, [x3, #-16]
    sub     x2, x2, #64
    cmp     x2, #64
    b.hs    .Lupwards_turn
    upwards 5, 32
    upwards 4, 16
    upwards 3, 8
    upwards 2, 4
    upwards 1, 2
    upwards 0, 1
    ret

.Ldownwards:
    add     x3, x0, x2
    add     x1, x1, x2
.Ldownwards_turn:
    ldp     x4, x5, [x1, #-16]
    ldp     x6, x7, [x1, #-32]
    ldp     x8, x9, [x1, #-48]
    ldp     x10, x11, [x1, #-64]!
    stp     x4, x5, [x3, #-16]
    stp     x6, x7, [x3, #-32]
    stp     x8, x9, [x3, #-48]
    stp     x10, x11, [x3, #-64]!
    sub     x2, x2, #64
    cmp     x2, #64
    b.hs    .Ldownwards_turn
    downwards 5, 32
    downwards 4, 16
    downwards 3, 8
    downwards 2, 4
    downwards 1, 2
    downwards 0, 1
    ret
end_function memmove
