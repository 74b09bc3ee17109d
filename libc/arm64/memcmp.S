/* SPDX-License-Identifier: BSD-2-Clause */
/* memcmp, 16 bytes a turn. Normal memory only, as memcpy.
 *
 * x0, x1 memory, x2 bytes. */
#include "function.h"

function memcmp
    subs    x2, x2, #16
    b.lo    .Lrest
.Lturn:
    ldp     x3, x4, [x0], #16
    ldp     x5, x6, [x1], #16
    cmp     x3, x5
    ccmp    x4, x6, #0, eq
    b.ne    .Ldifferent_pair
    subs    x2, x2, #16
    b.hs    .Lturn
.Lrest:
    /* The remaining bytes minus 16, whose low four bits are those of the rest. */
    tbz     x2, #3, .Lless_than_8
    ldr     x3, [x0], #8
    ldr     x5, [x1], #8
    cmp     x3, x5
    b.ne    .Ldifferent
.Lless_than_8:
    tbz     x2, #2, .Lless_than_4
    ldr     w3, [x0], #4
    ldr     w5, [x1], #4
    cmp     x3, x5
    b.ne    .Ldifferent
.Lless_than_4:
    and     x2, x2, #3
.Lbyte:
    cbz     x2, .Lequal
    ldrb    w3, [x0], #1
    ldrb    w5, [x1], #1
    sub     x2, x2, #1
    subs    w3, w3, w5
    b.eq    .Lbyte
    mov     w0, w3
    ret
.Lequal:
    mov     w0, #0
    ret

.Ldifferent_pair:
    cmp     x3, x5
    csel    x3, x3, x4, ne
    csel    x5, x5, x6, ne
.Ldifferent:
    /* Little-endian: the first byte is the lowest; reversed, it decides. */
    rev     x3, x3
    rev     x5, x5
    cmp     x3, x5
    mov     w0, #1
    cneg    w0, w0, lo
    ret
end_function memcmp
