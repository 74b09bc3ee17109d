/* SPDX-License-Identifier: BSD-2-Clause */
/* Values of system registers, for C and assembly. */
#ifndef ARCH_REGISTER_VALUES_H
#define ARCH_REGISTER_VALUES_H

/* SPSR_EL1.M[3:0] of EL1 with SP_EL0: how threads run (Arm ARM, SPSR_EL1). */
#define PROCESSOR_STATE_THREAD 0x4

/* CPACR_EL1.FPEN (Arm ARM, CPACR_EL1): 0b11 traps nothing, 0b00 traps EL1 and EL0. */
#define CPACR_FLOATING_POINT (3 << 20)

#endif
