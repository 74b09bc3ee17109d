/* SPDX-License-Identifier: BSD-2-Clause */
/* Sets up each core for C. The first core runs guest_main(), the others the function in x0. */
    .section .start, "ax"
    .global _start
_start:
    adr x0, guest_main

    .global guest_other
guest_other:
    msr sctlr_el1, xzr
    isb
    mrs x1, mpidr_el1
    and x1, x1, #15
    add x1, x1, #1
    adrp x2, stacks
    add x2, x2, :lo12:stacks
    add x2, x2, x1, lsl #12
    mov sp, x2
    blr x0
1:  b 1b

    .bss
    .balign 4096
    .global stacks
stacks:
    .skip 16 * 4096
