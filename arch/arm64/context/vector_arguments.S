/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * bool arch_vector_arguments_store(struct arch_vector_arguments *vectors): see
 * arch/vector_arguments.h. While access to the registers is disabled, no caller has passed
 * arguments in them.
 */
    .arch armv8-a+fp+simd

    .section .text.arch_vector_arguments_store, "ax", %progbits
    .global arch_vector_arguments_store
    .type arch_vector_arguments_store, %function
    .p2align 2
arch_vector_arguments_store:
    mrs x9, cpacr_el1
    cbz x9, 1f
    stp q0, q1, [x0]
    stp q2, q3, [x0, #32]
    stp q4, q5, [x0, #64]
    stp q6, q7, [x0, #96]
    mov w0, #1
    ret
1:  mov w0, #0
    ret
    .size arch_vector_arguments_store, . - arch_vector_arguments_store

    .section .note.GNU-stack, "", %progbits
