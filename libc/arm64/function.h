/* SPDX-License-Identifier: BSD-2-Clause */
/* How the assembly files begin and end a function. */
#ifndef LIBC_ARM64_FUNCTION_H
#define LIBC_ARM64_FUNCTION_H

/* clang-format off */
/* Each function is in a section of its own, so that the linker can drop it. */
.macro function name
    .section .text.\name, "ax", %progbits
    .global \name
    .type \name, %function
    .p2align 4
\name:
.endm

.macro end_function name
    .size \name, . - \name
.endm
/* clang-format on */

#endif
