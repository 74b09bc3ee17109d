/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Offsets inside struct arch_context and of the floating-point area, for assembly; context.c checks
 * them against the structures.
 */
#ifndef CONTEXT_LAYOUT_H
#define CONTEXT_LAYOUT_H

#define CONTEXT_X               0
#define CONTEXT_STACK_POINTER   248
#define CONTEXT_PROGRAM_COUNTER 256
#define CONTEXT_PROCESSOR_STATE 264
#define CONTEXT_COMPLETE        272
#define CONTEXT_FLOATING_POINT  280
#define CONTEXT_AREA            288

#define FLOATING_POINT_STATUS 512

/* SPSR_EL1.M[3:0] of EL1 with SP_EL0: how threads run (Arm ARM, SPSR_EL1). */
#define PROCESSOR_STATE_THREAD 0x4

/* CPACR_EL1.FPEN (Arm ARM, CPACR_EL1): 0b11 traps nothing, 0b00 traps EL1 and EL0. */
#define CPACR_FLOATING_POINT (3 << 20)

#endif
