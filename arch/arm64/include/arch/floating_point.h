/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Assembly macros that copy the floating-point registers to and from a struct
 * floating_point_registers. CPACR_EL1.FPEN must permit access to them.
 */
#ifndef ARCH_FLOATING_POINT_H
#define ARCH_FLOATING_POINT_H

/* clang-format off */

/* Stores all registers. `area`: the number of the general register that has the structure's
 * address. `scratch`: the number of another general register. Changes both. */
    .macro floating_point_save area, scratch
    stp q0, q1, [x\area], #32
    stp q2, q3, [x\area], #32
    stp q4, q5, [x\area], #32
    stp q6, q7, [x\area], #32
    stp q8, q9, [x\area], #32
    stp q10, q11, [x\area], #32
    stp q12, q13, [x\area], #32
    stp q14, q15, [x\area], #32
    stp q16, q17, [x\area], #32
    stp q18, q19, [x\area], #32
    stp q20, q21, [x\area], #32
    stp q22, q23, [x\area], #32
    stp q24, q25, [x\area], #32
    stp q26, q27, [x\area], #32
    stp q28, q29, [x\area], #32
    stp q30, q31, [x\area], #32
    mrs x\scratch, fpsr
    str w\scratch, [x\area]
    mrs x\scratch, fpcr
    str w\scratch, [x\area, #4]
    .endm

/* Loads all registers. Arguments as above. */
    .macro floating_point_load area, scratch
    ldp q0, q1, [x\area], #32
    ldp q2, q3, [x\area], #32
    ldp q4, q5, [x\area], #32
    ldp q6, q7, [x\area], #32
    ldp q8, q9, [x\area], #32
    ldp q10, q11, [x\area], #32
    ldp q12, q13, [x\area], #32
    ldp q14, q15, [x\area], #32
    ldp q16, q17, [x\area], #32
    ldp q18, q19, [x\area], #32
    ldp q20, q21, [x\area], #32
    ldp q22, q23, [x\area], #32
    ldp q24, q25, [x\area], #32
    ldp q26, q27, [x\area], #32
    ldp q28, q29, [x\area], #32
    ldp q30, q31, [x\area], #32
    ldr w\scratch, [x\area]
    msr fpsr, x\scratch
    ldr w\scratch, [x\area, #4]
    msr fpcr, x\scratch
    .endm

/* clang-format on */

#endif
