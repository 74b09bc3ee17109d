/* SPDX-License-Identifier: BSD-2-Clause */
/* The start at EL1, with the MMU off, and FreeRTOS's exception vectors. */
    .section .start, "ax"
    .global _start
_start:
    msr spsel, #1
    adrp x1, stack_end
    add x1, x1, :lo12:stack_end
    mov sp, x1
    mov x2, #(3 << 20)   /* CPACR_EL1.FPEN: FreeRTOS saves vector registers of tasks that use them */
    msr cpacr_el1, x2
    isb
    bl main
1:  wfi
    b 1b

    .macro vector target
    .balign 128
    b \target
    .endm

    /* Tasks execute with SP_EL0, the handlers with SP_EL1. */
    .text
    .balign 2048
    .global _freertos_vector_table
_freertos_vector_table:
    vector FreeRTOS_SWI_Handler
    vector FreeRTOS_IRQ_Handler
    vector unexpected
    vector unexpected
    vector unexpected
    vector FreeRTOS_IRQ_Handler
    vector unexpected
    vector unexpected
    .rept 8
    vector unexpected
    .endr

    .bss
    .balign 16
    .skip 16384
stack_end:
