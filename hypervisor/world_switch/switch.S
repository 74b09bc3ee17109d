/* SPDX-License-Identifier: BSD-2-Clause */
/* Switches from the monitor of one VCPU to that of another (scheduler/core.h). Both map this code
 * at the same address. */
#include "entry/macros.inc"
#include "hypervisor_offsets.h"

#define CALLER_BYTES 96 /* size of x19 to x30, which a called function preserves */

    .text
    .macro save_caller place
    stp x19, x20, [sp, #-CALLER_BYTES]!
    stp x21, x22, [sp, #16]
    stp x23, x24, [sp, #32]
    stp x25, x26, [sp, #48]
    stp x27, x28, [sp, #64]
    stp x29, x30, [sp, #80]
    mov x3, sp
    str x3, [\place]
    .endm

/* void switch_to_waiting(uint64_t *own_stack, uint64_t stack, const struct processor *) */
    .global switch_to_waiting
    .type switch_to_waiting, %function
switch_to_waiting:
    save_caller x0
    mov x3, x1
    change_tables x2, PROCESSOR_SERVICES
    mov sp, x3
    ldp x21, x22, [sp, #16]
    ldp x23, x24, [sp, #32]
    ldp x25, x26, [sp, #48]
    ldp x27, x28, [sp, #64]
    ldp x29, x30, [sp, #80]
    ldp x19, x20, [sp], #CALLER_BYTES
    ret
    .size switch_to_waiting, . - switch_to_waiting

/* void switch_to_new(uint64_t *own_stack, struct processor *) */
    .global switch_to_new
    .type switch_to_new, %function
switch_to_new:
    save_caller x0
    mov x0, x1
    b monitor_enter
    .size switch_to_new, . - switch_to_new
