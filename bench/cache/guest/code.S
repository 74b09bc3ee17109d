/* SPDX-License-Identifier: BSD-2-Clause */
/* Code of 512 KiB: lines of 64 bytes, each of which branches to the next one. */
#define CODE_LINES 8192

    .section .text.much_code, "ax"
    .balign 64
    .global much_code
    .type much_code, %function
much_code:
    .rept CODE_LINES - 1
    add x1, x1, #1
    b . + 60
    .balign 64
    .endr
    ret
    .size much_code, . - much_code
