/* SPDX-License-Identifier: BSD-2-Clause */
/* Entry to C from reset and from interrupts. */
    .section .start, "ax"
    .global _start
_start:
    mov x19, x0
    msr sctlr_el1, xzr
    isb
    adr x0, vectors
    msr vbar_el1, x0
    adrp x0, stack_end
    add x0, x0, :lo12:stack_end
    mov sp, x0
    mov x0, x19
    bl guest_main

    .global power_off
power_off: /* Arm DEN 0022, SYSTEM_OFF */
    ldr w0, =0x84000008
    hvc #0
    b power_off

interrupt:
    stp x0, x1, [sp, #-192]!
    stp x2, x3, [sp, #16]
    stp x4, x5, [sp, #32]
    stp x6, x7, [sp, #48]
    stp x8, x9, [sp, #64]
    stp x10, x11, [sp, #80]
    stp x12, x13, [sp, #96]
    stp x14, x15, [sp, #112]
    stp x16, x17, [sp, #128]
    stp x18, x29, [sp, #144]
    mrs x0, elr_el1
    mrs x1, spsr_el1
    stp x30, x0, [sp, #160]
    str x1, [sp, #176]
    bl guest_interrupt
    ldr x1, [sp, #176]
    ldp x30, x0, [sp, #160]
    msr elr_el1, x0
    msr spsr_el1, x1
    ldp x2, x3, [sp, #16]
    ldp x4, x5, [sp, #32]
    ldp x6, x7, [sp, #48]
    ldp x8, x9, [sp, #64]
    ldp x10, x11, [sp, #80]
    ldp x12, x13, [sp, #96]
    ldp x14, x15, [sp, #112]
    ldp x16, x17, [sp, #128]
    ldp x18, x29, [sp, #144]
    ldp x0, x1, [sp], #192
    eret

    .balign 2048
vectors:
    .rept 5
    b guest_failed
    .balign 128
    .endr
    b interrupt
    .balign 128
    .rept 10
    b guest_failed
    .balign 128
    .endr

    .bss
    .balign 16
    .skip 16384
stack_end:
