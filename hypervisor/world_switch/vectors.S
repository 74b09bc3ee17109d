/* SPDX-License-Identifier: BSD-2-Clause */
/* void vectors_save(struct vector_registers *) and void vectors_load(const struct vector_registers
 * *) */
#include "hypervisor_offsets.h"

    .arch armv8-a+fp+simd
    .text

    .macro each_pair instruction
    \instruction q0, q1, [x0]
    \instruction q2, q3, [x0, #32]
    \instruction q4, q5, [x0, #64]
    \instruction q6, q7, [x0, #96]
    \instruction q8, q9, [x0, #128]
    \instruction q10, q11, [x0, #160]
    \instruction q12, q13, [x0, #192]
    \instruction q14, q15, [x0, #224]
    \instruction q16, q17, [x0, #256]
    \instruction q18, q19, [x0, #288]
    \instruction q20, q21, [x0, #320]
    \instruction q22, q23, [x0, #352]
    \instruction q24, q25, [x0, #384]
    \instruction q26, q27, [x0, #416]
    \instruction q28, q29, [x0, #448]
    \instruction q30, q31, [x0, #480]
    .endm

    .global vectors_save
    .type vectors_save, %function
vectors_save:
    each_pair stp
    mrs x1, fpcr
    mrs x2, fpsr
    add x0, x0, #VECTORS_CONTROL
    stp x1, x2, [x0]
    ret
    .size vectors_save, . - vectors_save

    .global vectors_load
    .type vectors_load, %function
vectors_load:
    each_pair ldp
    add x0, x0, #VECTORS_CONTROL
    ldp x1, x2, [x0]
    msr fpcr, x1
    msr fpsr, x2
    ret
    .size vectors_load, . - vectors_load
