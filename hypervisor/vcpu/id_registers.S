/* SPDX-License-Identifier: BSD-2-Clause */
/* uint64_t id_register_read(unsigned id_register): see features.h. The number of an ID register is
 * part of the MRS instruction, so each register has a pair of instructions, in the order of the
 * numbers. A register that is not allocated reads as 0. */
    .text
    .global id_register_read
    .type id_register_read, %function
id_register_read:
    adr x1, 1f
    sub w0, w0, #8 /* ID_REGISTER_FIRST */
    add x1, x1, x0, lsl #3
    br x1
1:
    .irp crm, 1, 2, 3, 4, 5, 6, 7
    .irp op2, 0, 1, 2, 3, 4, 5, 6, 7
    mrs x0, s3_0_c0_c\crm\()_\op2
    ret
    .endr
    .endr
    .size id_register_read, . - id_register_read
