/* SPDX-License-Identifier: BSD-2-Clause */
/* System registers and instructions that monitors use, by the names of the Arm ARM. */
#ifndef MONITOR_REGISTERS_H
#define MONITOR_REGISTERS_H

#include <stdint.h>

#define register_read(name)                                        \
    ({                                                             \
        uint64_t register_value;                                   \
        __asm__ volatile("mrs %0, " #name : "=r"(register_value)); \
        register_value;                                            \
    })

#define register_write(name, value) __asm__ volatile("msr " #name ", %0" : : "r"((uint64_t)(value)))

#define instruction_barrier() __asm__ volatile("isb" : : : "memory")

/*
 * HCR_EL2: stage 2 (VM); set and way stay harmless (SWIO); FIQ and SError are ours (FMO, AMO), IRQ
 * is the guest's; SMC, set and way operations, implementation defined registers and ACTLR come here
 * (TSC, TSW, TIDCP, TACR); EL1 is AArch64 (RW); pointer authentication is the guest's (APK, API).
 */
#define HCR_GUEST                                                                    \
    (UINT64_C(1) << 0 | UINT64_C(1) << 1 | UINT64_C(1) << 3 | UINT64_C(1) << 5 |     \
     UINT64_C(1) << 19 | UINT64_C(1) << 20 | UINT64_C(1) << 21 | UINT64_C(1) << 22 | \
     UINT64_C(1) << 31 | UINT64_C(1) << 40 | UINT64_C(1) << 41)

/* VTCR_EL2: RES1; 39 bits of input from level 1 (T0SZ, SL0); walks write-back, Inner Shareable;
 * 4 KiB. PS comes from the processor. */
#define VTCR_BASE                                                                   \
    (UINT64_C(1) << 31 | UINT64_C(3) << 12 | UINT64_C(1) << 10 | UINT64_C(1) << 8 | \
     UINT64_C(1) << 6 | UINT64_C(25))
#define VTCR_PS_SHIFT    16
#define PHYSICAL_48_BITS UINT64_C(5)
#define VTTBR_VMID_SHIFT 48

/* SCTLR_EL1 with MMU and caches off: the bits that are RES1 for want of what defines them. */
#define SCTLR_EL1_OFF 0x30d00800
#define STATE_EL1H    UINT64_C(0x3c5) /* SPSR_EL2: EL1 on its own stack, everything masked */

#endif
