/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Functions that save and load debug registers (world_switch/debug.h). The numbers of these
 * registers are part of instructions. x0: the pairs in memory, x1: their number. Each function
 * jumps to the three instructions of the last pair, and continues to the first pair.
 */
#define SAVE_PAIRS(name, control, value)                                   \
    .global name;                                                          \
    .type name, %function;                                                 \
name:                                                                      \
    adr x4, 1f;                                                            \
    add x1, x1, x1, lsl #1;                                                \
    sub x4, x4, x1, lsl #2;                                                \
    br x4;                                                                 \
    .irp number, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0;     \
    mrs x2, value\number\()_el1;                                           \
    mrs x3, control\number\()_el1;                                         \
    stp x2, x3, [x0, #16 * \number];                                       \
    .endr;                                                                 \
1:  ret;                                                                   \
    .size name, . - name

#define LOAD_PAIRS(name, control, value)                                   \
    .global name;                                                          \
    .type name, %function;                                                 \
name:                                                                      \
    adr x4, 1f;                                                            \
    add x1, x1, x1, lsl #1;                                                \
    sub x4, x4, x1, lsl #2;                                                \
    br x4;                                                                 \
    .irp number, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0;     \
    ldp x2, x3, [x0, #16 * \number];                                       \
    msr value\number\()_el1, x2;                                           \
    msr control\number\()_el1, x3;                                         \
    .endr;                                                                 \
1:  ret;                                                                   \
    .size name, . - name

    .text
    SAVE_PAIRS(debug_save_breakpoints, dbgbcr, dbgbvr)
    LOAD_PAIRS(debug_load_breakpoints, dbgbcr, dbgbvr)
    SAVE_PAIRS(debug_save_watchpoints, dbgwcr, dbgwvr)
    LOAD_PAIRS(debug_load_watchpoints, dbgwcr, dbgwvr)
