/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * memcpy and memset of the hypervisor. It copies and zeroes whole pages, and a few small structures
 * at the start of a partition. So both functions are short; those of libc/ are fast for every size.
 * The MMU must be on, because unaligned accesses and DC ZVA fault on Device memory (Arm ARM, "DC
 * ZVA").
 */

/* void *memcpy(void *to, const void *from, size_t bytes) */
    .section .text.memcpy, "ax"
    .global memcpy
    .type memcpy, %function
memcpy:
    mov x3, x0
    subs x2, x2, #128
    b.lo 2f
1:  ldp x4, x5, [x1], #128
    ldp x6, x7, [x1, #-112]
    ldp x8, x9, [x1, #-96]
    ldp x10, x11, [x1, #-80]
    stp x4, x5, [x3], #128
    stp x6, x7, [x3, #-112]
    stp x8, x9, [x3, #-96]
    stp x10, x11, [x3, #-80]
    ldp x4, x5, [x1, #-64]
    ldp x6, x7, [x1, #-48]
    ldp x8, x9, [x1, #-32]
    ldp x10, x11, [x1, #-16]
    stp x4, x5, [x3, #-64]
    stp x6, x7, [x3, #-48]
    stp x8, x9, [x3, #-32]
    stp x10, x11, [x3, #-16]
    subs x2, x2, #128
    b.hs 1b
2:  add x2, x2, #128
3:  subs x2, x2, #16
    b.lo 4f
    ldp x4, x5, [x1], #16
    stp x4, x5, [x3], #16
    b 3b
4:  adds x2, x2, #16
    b.eq 6f
5:  ldrb w4, [x1], #1
    strb w4, [x3], #1
    subs x2, x2, #1
    b.ne 5b
6:  ret
    .size memcpy, . - memcpy

/* void *memset(void *memory, int value, size_t bytes). Zeroes by DC ZVA if the memory consists of
 * whole blocks. DCZID_EL0: bit 4 prohibits DC ZVA, bits 3:0 are log2 of the block's words. */
    .section .text.memset, "ax"
    .global memset
    .type memset, %function
memset:
    and x1, x1, #0xff
    mov x4, #0x0101010101010101
    mul x1, x1, x4
    add x2, x0, x2 /* x2: end of the memory */
    mov x3, x0
    cbnz x1, 2f
    mrs x4, dczid_el0
    tbnz x4, #4, 2f
    mov x5, #4
    lsl x4, x5, x4 /* bits 63:5 of DCZID_EL0 are 0, so x4 is the block's size */
    orr x5, x0, x2
    sub x6, x4, #1
    tst x5, x6
    b.ne 2f
    b 5f
1:  dc zva, x3
    add x3, x3, x4
5:  cmp x3, x2
    b.lo 1b
    ret
2:  sub x4, x2, x3
    cmp x4, #16
    b.lo 4f
    stp x1, x1, [x3], #16
    b 2b
3:  strb w1, [x3], #1
4:  cmp x3, x2
    b.lo 3b
    ret
    .size memset, . - memset
