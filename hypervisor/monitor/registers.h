/* SPDX-License-Identifier: BSD-2-Clause */
/* System registers and instructions that monitors use, by the names of the Arm ARM. */
#ifndef MONITOR_REGISTERS_H
#define MONITOR_REGISTERS_H

#include <stdint.h>

/* `name` may be one of the macros below. */
#define REGISTER_TEXT(name)   REGISTER_QUOTED(name)
#define REGISTER_QUOTED(name) #name

#define register_read(name)                                                      \
    ({                                                                           \
        uint64_t register_value;                                                 \
        __asm__ volatile("mrs %0, " REGISTER_TEXT(name) : "=r"(register_value)); \
        register_value;                                                          \
    })

#define register_write(name, value) \
    __asm__ volatile("msr " REGISTER_TEXT(name) ", %0" : : "r"((uint64_t)(value)))

#define instruction_barrier() __asm__ volatile("isb" : : : "memory")

/* Registers that assemblers know only for later versions of the architecture. */
#define HFGRTR_EL2    s3_4_c1_c1_4
#define HFGWTR_EL2    s3_4_c1_c1_5
#define HFGITR_EL2    s3_4_c1_c1_6
#define HCRX_EL2      s3_4_c1_c2_2
#define HDFGRTR2_EL2  s3_4_c3_c1_0
#define HDFGWTR2_EL2  s3_4_c3_c1_1
#define HFGRTR2_EL2   s3_4_c3_c1_2
#define HFGWTR2_EL2   s3_4_c3_c1_3
#define HDFGRTR_EL2   s3_4_c3_c1_4
#define HDFGWTR_EL2   s3_4_c3_c1_5
#define HAFGRTR_EL2   s3_4_c3_c1_6
#define HFGITR2_EL2   s3_4_c3_c1_7
#define MPAM1_EL1     s3_0_c10_c5_0
#define MPAM0_EL1     s3_0_c10_c5_1
#define MPAM2_EL2     s3_4_c10_c5_0
#define VDISR_EL2     s3_4_c12_c1_1
#define APIAKEYLO_EL1 s3_0_c2_c1_0
#define APIAKEYHI_EL1 s3_0_c2_c1_1
#define APIBKEYLO_EL1 s3_0_c2_c1_2
#define APIBKEYHI_EL1 s3_0_c2_c1_3
#define APDAKEYLO_EL1 s3_0_c2_c2_0
#define APDAKEYHI_EL1 s3_0_c2_c2_1
#define APDBKEYLO_EL1 s3_0_c2_c2_2
#define APDBKEYHI_EL1 s3_0_c2_c2_3
#define APGAKEYLO_EL1 s3_0_c2_c3_0
#define APGAKEYHI_EL1 s3_0_c2_c3_1

#define DBGCLAIM_ALL 0xffu /* DBGCLAIMCLR_EL1.CLAIM */

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
