/* SPDX-License-Identifier: BSD-2-Clause */
/* Functions that clear registers (clear.h). The numbers of these registers are part of
 * instructions. */
    .arch armv8-a+fp+simd

    .text
    .global clear_vectors
    .type clear_vectors, %function
clear_vectors:
    .irp number, 0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30, 31
    movi v\number\().2d, #0
    .endr
    msr fpcr, xzr
    msr fpsr, xzr
    ret
    .size clear_vectors, . - clear_vectors

/*
 * Defines a function that clears the first x0 pairs of debug registers. Each pair takes two
 * instructions, the control register first. The function jumps to the instruction that is x0 pairs
 * before its end. CLEAR_PAIRS is a macro of the preprocessor, because "\()" has a meaning of its
 * own in an assembler macro.
 */
#define CLEAR_PAIRS(name, control, value)                                       \
    .global name;                                                               \
    .type name, %function;                                                      \
name:                                                                           \
    adr x1, 1f;                                                                 \
    sub x1, x1, x0, lsl #3;                                                     \
    br x1;                                                                      \
    .irp number, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0;          \
    msr control\number\()_el1, xzr;                                             \
    msr value\number\()_el1, xzr;                                               \
    .endr;                                                                      \
1:  ret;                                                                        \
    .size name, . - name

    CLEAR_PAIRS(clear_breakpoints, dbgbcr, dbgbvr)
    CLEAR_PAIRS(clear_watchpoints, dbgwcr, dbgwvr)
