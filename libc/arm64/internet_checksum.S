/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The Internet checksum. Long data is added with SIMD registers, 64 bytes at a time: 32-bit words
 * are added in 64-bit lanes, which don't overflow within a piece. The rest is added 64 bits at a time
 * with end-around carry: the ones' complement sum modulo 2^64 - 1 folds to the one modulo 2^16 - 1
 * (RFC 1071, 2(C)). The carry stays in the flags: between the first addition and the fold only ADCS
 * changes them.
 *
 * SIMD registers belong to threads that have used them, and their first use traps. This function saves
 * them, uses them with interrupts masked, and restores them, a piece at a time, which bounds how long
 * interrupts are masked (docs/decisions/0012-borrowed-registers.md).
 *
 * internet_checksum: x0 data, x1 bytes; result in w0.
 * internet_checksum_copy: x0 destination, x1 source, x2 bytes; result in w0. Unaligned accesses as
 * in memcpy.S.
 */
#include "arm64_offsets.h"
#include <arch/register_values.h>
#include "function.h"

    .arch armv8-a+fp+simd

#define WIDE_BYTES_MIN   256 /* below, borrowing costs more than it saves */
#define PIECE_BLOCKS     32  /* of 64 bytes */
#define INTERRUPTS       2   /* DAIF.I */

/*
 * The registers hold somebody's values if access to them is on, and in an interrupt handler, where it
 * is off at first, if the interrupted thread has used them: then the six are kept on the stack.
 * Changes x9 to x11; x9 (DAIF), x10 (CPACR_EL1) and x11 (0: nothing is on the stack) are for
 * `give_back`.
 */
.macro borrow
    mrs     x9, daif
    msr     daifset, #INTERRUPTS
    mrs     x10, cpacr_el1
    mov     x11, #CPACR_FLOATING_POINT
    cbnz    x10, 91f
    msr     cpacr_el1, x11
    isb
    mrs     x11, tpidr_el1          /* the running or interrupted thread; 0 before the first */
    cbz     x11, 92f
    ldr     x11, [x11, #CONTEXT_FLOATING_POINT]
    cbz     x11, 92f
91:
    sub     sp, sp, #96
    stp     q0, q1, [sp]
    stp     q2, q3, [sp, #32]
    stp     q4, q5, [sp, #64]
92:
.endm

/* An access that was disabled is disabled again before the next instruction, because the thread's own
 * first use of the registers has to trap. */
.macro give_back
    cbz     x11, 93f
    ldp     q0, q1, [sp]
    ldp     q2, q3, [sp, #32]
    ldp     q4, q5, [sp, #64]
    add     sp, sp, #96
93:
    cbnz    x10, 94f
    msr     cpacr_el1, xzr
    isb
94:
    msr     daif, x9
.endm

/* The function that copies also stores the loaded registers. */
.macro store copy, instruction, registers:vararg
    .if \copy
    \instruction \registers
    .endif
.endm

/* Adds x1 bytes to x2, except for a rest of less than WIDE_BYTES_MIN. */
.macro sum_wide copy
81:
    lsr     x3, x1, #6
    mov     x4, #PIECE_BLOCKS
    cmp     x3, x4
    csel    x3, x3, x4, lo
    sub     x1, x1, x3, lsl #6
    borrow
    movi    v4.2d, #0
    movi    v5.2d, #0
82:
    ld1     {v0.16b-v3.16b}, [x0], #64
    sub     x3, x3, #1
    store   \copy, st1, {v0.16b-v3.16b}, [x13], #64
    uadalp  v4.2d, v0.4s
    uadalp  v5.2d, v1.4s
    uadalp  v4.2d, v2.4s
    uadalp  v5.2d, v3.4s
    cbnz    x3, 82b
    add     v4.2d, v4.2d, v5.2d
    addp    d4, v4.2d
    fmov    x4, d4
    add     x2, x2, x4
    give_back
    cmp     x1, #WIDE_BYTES_MIN
    b.hs    81b
.endm

/* x0 source, x1 bytes, x13 destination. */
.macro sum copy
    mov     x2, xzr
    cmp     x1, #WIDE_BYTES_MIN
    b.lo    80f
    sum_wide \copy
80:
    lsr     x3, x1, #6
    adds    x2, x2, xzr             /* carry 0 */
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
