/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A firmware that leaves things behind, for QEMU's machine `virt` with secure=on, from its flash.
 * The first core starts the image at IMAGE, at Non-secure EL2; the others stay here. The interrupt
 * KEPT_SPI is in Group 0. With LPIS not 0, the LPIs of all cores are on, with a pending table at
 * this address, which is empty (GICR_PENDBASER.PTZ). With PENDING_LPI not 0, the first LPI is enabled
 * and pending at all cores.
 *
 * With TRNG_STATUS 0, no call by SMC is supported. Otherwise the firmware has a TRNG (Arm DEN0098):
 * the first TRNG_LATE calls for random bits return that there is no entropy, the next TRNG_WORDS
 * return 64 bits, and all others TRNG_STATUS.
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
#define FIRST_LPI       8192
#define LPI_ENABLED     0xa1 /* an LPI's configuration: its priority and the enable bit */
#define PSCI_VERSION    0x84000000
#define PSCI_FEATURES   0x8400000a
#define SMCCC_VERSION   0x80000000
#define TRNG_VERSION    0x84000050
#define TRNG_FEATURES   0x84000051
#define TRNG_RND64      0xc4000053
#define NOT_SUPPORTED   -1
#define NO_ENTROPY      -3
#define ODD             0x9e3779b97f4a7c15 /* a number to multiply with */

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
#if PENDING_LPI
    ldr x2, =(LPIS + FRAME * 2) /* the configuration of the first LPI */
    mov w5, #LPI_ENABLED
    strb w5, [x2]
    ldr x2, =(LPIS + FIRST_LPI / 8)
    mov w5, #1
    strb w5, [x2]
    dsb sy
    ldr x2, =LPIS
#else
    ldr x2, =(LPIS | 1 << 62)
#endif
    str x2, [x1, #PENDING]
    mov w2, #1
    str w2, [x1, #CONTROL]
#endif
    add x1, x3, #FRAME
    subs x4, x4, #1
    b.ne 4b

    adr x0, vectors
    msr vbar_el3, x0
    msr tpidr_el3, xzr /* number of calls for random bits */
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

#if TRNG_STATUS
    .macro answer function, result
    ldr w4, =\function
    ldr w5, =\result
    cmp w0, w4
    b.eq return
    .endm

handle_call:
    answer PSCI_VERSION, 0x10001
    answer PSCI_FEATURES, 0 /* of SMCCC_VERSION */
    answer SMCCC_VERSION, 0x10002
    answer TRNG_VERSION, 0x10000
    answer TRNG_FEATURES, 0
    ldr w4, =TRNG_RND64
    mov w5, #NOT_SUPPORTED
    cmp w0, w4
    b.ne return
    mrs x3, tpidr_el3
    add x4, x3, #1
    msr tpidr_el3, x4
    mov w5, #NO_ENTROPY
    ldr x4, =TRNG_LATE
    cmp x3, x4
    b.lo return
    ldr w5, =TRNG_STATUS
    ldr x4, =(TRNG_LATE + TRNG_WORDS)
    cmp x3, x4
    b.hs return
    mrs x3, cntpct_el0
    ldr x4, =ODD
    mul x3, x3, x4
    mov w5, #0
    mov x2, #0
    mov x1, #0
return: /* the status has 32 bits, the upper half of X0 is 0 */
    mov w0, w5
    eret
    .ltorg
#else
handle_call:
    mov x0, #NOT_SUPPORTED
    eret
#endif

    .balign 2048
vectors:
    .skip 0x400 /* of calls by SMC from lower levels */
    b handle_call
