/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * memcpy with general registers only, so that interrupt handlers and threads without floating point
 * may use it. Unaligned accesses throughout: the memory must be Normal, hence the MMU on (Arm ARM
 * B2.5.2, unaligned accesses to Device memory fault).
 *
 * x0 destination (kept: the result), x1 source, x2 bytes.
 */
#include "function.h"

function memcpy
    add     x4, x1, x2              /* source's end */
    add     x5, x0, x2              /* destination's end */
    cmp     x2, #64
    b.hi    .Lmore_than_64
    /* Up to here all loads come before all stores; memmove relies on that. */
    cmp     x2, #16
    b.lo    .Lless_than_16
    ldp     x6, x7, [x1]
    ldp     x12, x13, [x4, #-16]
    cmp     x2, #32
    b.ls    .Lup_to_32
    ldp     x8, x9, [x1, #16]
    ldp     x10, x11, [x4, #-32]
    stp     x8, x9, [x0, #16]
    stp     x10, x11, [x5, #-32]
.Lup_to_32:
    stp     x6, x7, [x0]
    stp     x12, x13, [x5, #-16]
    ret

.Lless_than_16:
    tbz     x2, #3, .Lless_than_8
    ldr     x6, [x1]
    ldr     x7, [x4, #-8]
    str     x6, [x0]
    str     x7, [x5, #-8]
    ret
.Lless_than_8:
    tbz     x2, #2, .Lless_than_4
    ldr     w6, [x1]
    ldr     w7, [x4, #-4]
    str     w6, [x0]
    str     w7, [x5, #-4]
    ret
.Lless_than_4:
    cbz     x2, .Lnothing
    lsr     x3, x2, #1              /* first, middle and last byte, which may be the same */
    ldrb    w6, [x1]
    ldrb    w7, [x1, x3]
    ldrb    w8, [x4, #-1]
    strb    w6, [x0]
    strb    w7, [x0, x3]
    strb    w8, [x5, #-1]
.Lnothing:
    ret

.Lmore_than_64:
    mov     x3, x0
    subs    x2, x2, #128
    b.lo    .Lrest
.Lturn:
    ldp     x6, x7, [x1], #128
    ldp     x8, x9, [x1, #-112]
    ldp     x10, x11, [x1, #-96]
    ldp     x12, x13, [x1, #-80]
    stp     x6, x7, [x3], #128
    stp     x8, x9, [x3, #-112]
    stp     x10, x11, [x3, #-96]
    stp     x12, x13, [x3, #-80]
    ldp     x6, x7, [x1, #-64]
    ldp     x8, x9, [x1, #-48]
    ldp     x10, x11, [x1, #-32]
    ldp     x12, x13, [x1, #-16]
    stp     x6, x7, [x3, #-64]
    stp     x8, x9, [x3, #-48]
    stp     x10, x11, [x3, #-32]
    stp     x12, x13, [x3, #-16]
    subs    x2, x2, #128
    b.hs    .Lturn
.Lrest:
    cmn     x2, #64                 /* remaining bytes - 128: more than 64 left? */
    b.le    .Llast_64
    ldp     x6, x7, [x1]
    ldp     x8, x9, [x1, #16]
    ldp     x10, x11, [x1, #32]
    ldp     x12, x13, [x1, #48]
    stp     x6, x7, [x3]
    stp     x8, x9, [x3, #16]
    stp     x10, x11, [x3, #32]
    stp     x12, x13, [x3, #48]
.Llast_64:
    /* The last 64 bytes, of which a part may have been copied already. */
    ldp     x6, x7, [x4, #-64]
    ldp     x8, x9, [x4, #-48]
    ldp     x10, x11, [x4, #-32]
    ldp     x12, x13, [x4, #-16]
    stp     x6, x7, [x5, #-64]
    stp     x8, x9, [x5, #-48]
    stp     x10, x11, [x5, #-32]
    stp     x12, x13, [x5, #-16]
    ret
end_function memcpy
