/* SPDX-License-Identifier: BSD-2-Clause */
/* Functions that access a list register by its index (gic/system_registers.h). The index is part of
 * the instruction, so each list register has a pair of instructions: ICH_LR0_EL2 to ICH_LR15_EL2
 * are s3_4_c12_c12_0 to s3_4_c12_c13_7. */

/* void gic_registers_list(unsigned index, uint64_t value) */
    .section .text.list_write, "ax"
    .global gic_registers_list
    .type gic_registers_list, %function
gic_registers_list:
    adr x2, 1f
    add x2, x2, w0, uxtw #3
    br x2
1:
    .irp crm, 12, 13
    .irp op2, 0, 1, 2, 3, 4, 5, 6, 7
    msr s3_4_c12_c\crm\()_\op2, x1
    ret
    .endr
    .endr
    .size gic_registers_list, . - gic_registers_list

/* uint64_t gic_registers_listed(unsigned index) */
    .section .text.list_read, "ax"
    .global gic_registers_listed
    .type gic_registers_listed, %function
gic_registers_listed:
    adr x1, 2f
    add x1, x1, w0, uxtw #3
    br x1
2:
    .irp crm, 12, 13
    .irp op2, 0, 1, 2, 3, 4, 5, 6, 7
    mrs x0, s3_4_c12_c\crm\()_\op2
    ret
    .endr
    .endr
    .size gic_registers_listed, . - gic_registers_listed
