/* SPDX-License-Identifier: BSD-2-Clause */
/* The first instructions: EL1, MMU and caches off, interrupts masked, x0 = address of the devicetree. */
    .section .start, "ax"
    .global _start
_start:
    adrp x1, stack_end
    add x1, x1, :lo12:stack_end
    mov sp, x1
    bl bare_main
1:  wfi
    b 1b

    .bss
    .balign 16
    .skip 4096
stack_end:
