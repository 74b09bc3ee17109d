/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Exceptions to EL2 (Arm ARM, "Exception vectors").
 *
 * An exception from a guest saves its registers on the monitor's stack, which is empty then, and
 * restores them from there. For most exceptions the monitor switches to the service tables, and
 * back before the guest continues.
 *
 * After an exception from EL2 itself, the monitor continues only if a device did not respond to its
 * access (monitor.c, monitor_recover()).
 *
 * A vector has room for 32 instructions. The vectors for EL2 with SP_EL0, which the hypervisor
 * never uses, need one. Code that the other vectors share is in the rest of their room.
 */
#include "entry/macros.inc"
#include "hypervisor_offsets.h"

    .section .text.vectors, "ax"

/* Begins the vector at this offset. The assembler reports an error if the vector before is too
 * long. */
    .macro vector offset
    .org monitor_vectors + \offset
    .endm

    .macro save_registers
    stp x0, x1, [sp, #-FRAME_BYTES]!
    stp x2, x3, [sp, #16]
    stp x4, x5, [sp, #32]
    mrs x4, cntpct_el0 /* not early: an exception is a context synchronization event */
    stp x6, x7, [sp, #48]
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
    stp x30, x2, [sp, #FRAME_X30]
    stp x3, x4, [sp, #FRAME_STATE]
    mov x0, sp
    .endm

    .macro from_self offset, kind
    vector \offset
    save_registers
    mov x19, #\kind
    b recover
    .endm

    .macro from_guest offset, kind
    vector \offset
    save_registers
    mov x1, #\kind
    mov x19, x1
    mov x29, xzr
    b answer
    .endm

    .balign 2048
    .global monitor_vectors
monitor_vectors:
    vector 0x000
    b .
answer:
    bl monitor_answer
    cbnz w0, restore
    mrs x0, tpidr_el2
    ldp x1, x2, [x0, #PROCESSOR_SERVICES] /* and PROCESSOR_BRANCH_WORKAROUND */
    cbnz x2, discard_predictions
map_services:
    use_tables x1
    mov x0, sp
    mov x1, x19
    bl monitor_trap
    mov x0, sp

    .global monitor_resume
monitor_resume:
    mov sp, x0
    mrs x0, tpidr_el2
    change_tables x0, PROCESSOR_RESIDENT
    b restore

    vector 0x080
    b .
restore:
    ldp x30, x2, [sp, #FRAME_X30]
    ldr x3, [sp, #FRAME_STATE]
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
    /* The core may speculate past ERET as if it were no branch (Arm, "Straight-line Speculation",
     * 2020). This barrier ends the speculation. */
    dsb nsh
    isb

    vector 0x100
    b .
recover:
    mrs x0, tpidr_el2
    /* No struct processor yet, so the boot core's tables are in use, which map everything. */
    cbz x0, 1f
    change_tables x0, PROCESSOR_SERVICES
1:  mov x0, sp
    mov x1, x19
    bl monitor_recover
    b restore

    vector 0x180
    b .
/* Discards the guest's branch predictions before the tables map what is not the guest's
 * (entry/branch_isolation.h). x2: the function. It changes x0 to x3 (DEN0028, since SMCCC 1.1). */
discard_predictions:
    mov x0, x2
    smc #0
    mrs x0, tpidr_el2
    ldr x1, [x0, #PROCESSOR_SERVICES]
    b map_services

    from_self 0x200, 0
    from_self 0x280, 1
    from_self 0x300, 2
    from_self 0x380, 3
    from_guest 0x400, 0
    from_guest 0x480, 1
    from_guest 0x500, 2
    from_guest 0x580, 3
    from_guest 0x600, 0
    from_guest 0x680, 1
    from_guest 0x700, 2
    from_guest 0x780, 3
    vector 0x800
