/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A firmware that leaves things behind, for QEMU's machine `virt` with secure=on, from its flash.
 * The first core starts the image at IMAGE, at Non-secure EL2; the others stay here. The interrupt
 * KEPT_SPI is in Group 0. No call by SMC is supported. With LPIS not 0, the LPIs of all cores are
 * on, with a pending table at this address, which is empty (GICR_PENDBASER.PTZ).
 */
#define DISTRIBUTOR     0x08000000
#define REDISTRIBUTORS  0x080a0000
#define FRAME           0x10000
#define CORES           4
#define CONTROL         0x0    /* GICD_CTLR, GICR_CTLR */
#define GROUPS          0x80   /* GICD_IGROUPR, GICR_IGROUPR0 */
#define WAKER           0x14
#define CONFIGURATION   0x70   /* GICR_PROPBASER */
#define PENDING         0x78   /* GICR_PENDBASER */
#define ROUTING         0x30   /* GICD_CTLR: ARE_S, ARE_NS */
#define ID_BITS         15

    .global _start
_start:
    mrs x0, mpidr_el1
    tst x0, #0xff
    b.eq 2f
1:  wfi
    b 1b

2:  ldr x1, =DISTRIBUTOR
    mov w2, #ROUTING
    str w2, [x1, #CONTROL]
    mov w2, #-1 /* Non-secure Group 1 */
    add x3, x1, #GROUPS
    mov x4, #32
3:  str w2, [x3], #4
    subs x4, x4, #1
    b.ne 3b
    mvn w2, wzr
    eor w2, w2, #(1 << (KEPT_SPI % 32))
    str w2, [x1, #(GROUPS + KEPT_SPI / 32 * 4)]

    ldr x1, =REDISTRIBUTORS
    mov x4, #CORES
4:  str wzr, [x1, #WAKER]
    add x3, x1, #FRAME
    mov w2, #-1
    str w2, [x3, #GROUPS]
#if LPIS
    ldr x2, =(LPIS + FRAME * 2 + ID_BITS)
    str x2, [x1, #CONFIGURATION]
    ldr x2, =(LPIS | 1 << 62)
    str x2, [x1, #PENDING]
    mov w2, #1
    str w2, [x1, #CONTROL]
#endif
    add x1, x3, #FRAME
    subs x4, x4, #1
    b.ne 4b

    adr x0, vectors
    msr vbar_el3, x0
    mov x0, #0xf
    msr s3_6_c12_c12_5, x0 /* ICC_SRE_EL3: system registers, also at lower levels */
    mov x0, #0x531 /* NS, HCE, RW */
    msr scr_el3, x0
    msr cptr_el3, xzr
    msr mdcr_el3, xzr
    mov x0, #0x3c9 /* EL2h, all exceptions masked */
    msr spsr_el3, x0
    ldr x0, =IMAGE
    msr elr_el3, x0
    isb
    eret

    .balign 2048
vectors:
    .skip 0x400 /* of calls by SMC from lower levels */
    mov x0, #-1 /* NOT_SUPPORTED */
    eret
