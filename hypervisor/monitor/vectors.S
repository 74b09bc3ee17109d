/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Exceptions to EL2 (Arm ARM, "Exception vectors"), and the ways in and out of a monitor. From a
 * guest: its registers go onto the monitor's stack, which is empty then, and come back from there.
 * From EL2 itself: nothing is right any more.
 */
#include "monitor/core_layout.h"
#include "monitor/macros.inc"

/* Arm ARM, TCR_EL2: RES1; T0SZ 25; walks write-back, Inner Shareable; PS from the processor. */
#define TCR_BASE  0x80803519
#define PS_SHIFT  16
#define PS_MAX    5 /* 48 bits */
/* RES1 | WXN | I | SA | C | M */
#define SCTLR_ON  0x30cd183d
#define MAIR      0x04ff

    .section .text.vectors, "ax"
    .macro from_guest handler
    .balign 128
    stp x0, x1, [sp, #-FRAME_BYTES]!
    stp x2, x3, [sp, #16]
    stp x4, x5, [sp, #32]
    stp x6, x7, [sp, #48]
    mov x1, #\handler
    b save_rest
    .endm

    .macro from_self
    .balign 128
    mrs x0, esr_el2
    mrs x1, elr_el2
    mrs x2, far_el2
    b monitor_failed
    .endm

    .balign 2048
    .global monitor_vectors
monitor_vectors:
    from_self
    from_self
    from_self
    from_self
    from_self
    from_self
    from_self
    from_self
    from_guest 0
    from_guest 1
    from_guest 2
    from_guest 3
    from_guest 0
    from_guest 1
    from_guest 2
    from_guest 3
    .balign 128

save_rest:
    stp x8, x9, [sp, #64]
    stp x10, x11, [sp, #80]
    stp x12, x13, [sp, #96]
    stp x14, x15, [sp, #112]
    stp x16, x17, [sp, #128]
    stp x18, x19, [sp, #144]
    stp x20, x21, [sp, #160]
    stp x22, x23, [sp, #176]
    stp x24, x25, [sp, #192]
    stp x26, x27, [sp, #208]
    stp x28, x29, [sp, #224]
    mrs x2, elr_el2
    mrs x3, spsr_el2
    stp x30, x2, [sp, #240]
    str x3, [sp, #256]
    mov x0, sp
    mov x29, xzr
    bl monitor_trap
    mov x0, sp

/* monitor_resume(frame): continues the guest, or begins it. The stack is what is above the frame. */
    .global monitor_resume
monitor_resume:
    mov sp, x0
    ldp x30, x2, [sp, #240]
    ldr x3, [sp, #256]
    msr elr_el2, x2
    msr spsr_el2, x3
    ldp x2, x3, [sp, #16]
    ldp x4, x5, [sp, #32]
    ldp x6, x7, [sp, #48]
    ldp x8, x9, [sp, #64]
    ldp x10, x11, [sp, #80]
    ldp x12, x13, [sp, #96]
    ldp x14, x15, [sp, #112]
    ldp x16, x17, [sp, #128]
    ldp x18, x19, [sp, #144]
    ldp x20, x21, [sp, #160]
    ldp x22, x23, [sp, #176]
    ldp x24, x25, [sp, #192]
    ldp x26, x27, [sp, #208]
    ldp x28, x29, [sp, #224]
    ldp x0, x1, [sp], #FRAME_BYTES
    eret

/* monitor_mmu_on(root): returns with these tables and the caches on. The code is mapped where it
 * lies. Changes x1 to x3. */
    .text
    .global monitor_mmu_on
monitor_mmu_on:
    mrs x2, id_aa64mmfr0_el1
    and x2, x2, #0xf /* PARange, coded as PS is */
    mov x3, #PS_MAX
    cmp x2, x3
    csel x2, x2, x3, lo
    ldr w1, =TCR_BASE
    orr x1, x1, x2, lsl #PS_SHIFT
    mov x2, #MAIR
    msr mair_el2, x2
    msr tcr_el2, x1
    msr ttbr0_el2, x0
    isb
    tlbi alle2
    ic iallu
    dsb nsh
    isb
    ldr w1, =SCTLR_ON
    msr sctlr_el2, x1
    isb
    ret

/* A core that PSCI has started, MMU off; x0: its struct core. */
    .global monitor_core_entry
monitor_core_entry:
    msr daifset, #0xf
    mov x19, x0
    ldr x0, [x19, #CORE_ROOT]
    bl monitor_mmu_on
    mov x0, x19

/* monitor_enter(core): leaves the boot core's tables and stack for the monitor's own. */
    .global monitor_enter
monitor_enter:
    ldr x1, [x0, #CORE_ROOT]
    msr ttbr0_el2, x1
    isb
    tlbi alle2
    dsb nsh
    isb
    ldr x1, [x0, #CORE_STACK]
    sub sp, x1, #FRAME_BYTES /* where the guest's first registers will be */
    msr tpidr_el2, x0
    address x1, monitor_vectors
    msr vbar_el2, x1
    mov x29, xzr
    mov x30, xzr
    b monitor_main
    .ltorg
