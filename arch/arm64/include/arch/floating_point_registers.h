/* SPDX-License-Identifier: BSD-2-Clause */
/* The floating-point registers of a thread that has used them and does not run. */
#ifndef ARCH_FLOATING_POINT_REGISTERS_H
#define ARCH_FLOATING_POINT_REGISTERS_H

#include <stdint.h>

/* The macros of <arch/floating_point.h> store and load the members in this order. */
struct floating_point_registers {
    uint64_t q[32][2];
    uint32_t status;  /* FPSR */
    uint32_t control; /* FPCR */
    uint64_t padding; /* the stack stays aligned to 16 */
};

#endif
