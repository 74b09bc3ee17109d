/* SPDX-License-Identifier: BSD-2-Clause */
/* System registers and instructions that monitors use. The names are those of the Arm ARM. */
#ifndef HYPERVISOR_REGISTERS_H
#define HYPERVISOR_REGISTERS_H

#include <stdint.h>

/* Two macros, so that `name` may be one of the macros below. */
#define REGISTER_TEXT(name)   REGISTER_QUOTED(name)
#define REGISTER_QUOTED(name) #name

#define register_read(name)                                                      \
    ({                                                                           \
        uint64_t register_value;                                                 \
        __asm__ volatile("mrs %0, " REGISTER_TEXT(name) : "=r"(register_value)); \
        register_value;                                                          \
    })

/* Constraint Z: a constant 0 is written from XZR, without a general register. */
#define register_write(name, value) \
    __asm__ volatile("msr " REGISTER_TEXT(name) ", %x0" : : "rZ"((uint64_t)(value)))

#define instruction_barrier() __asm__ volatile("isb" : : : "memory")

/* Takes a pending SError, so that it is attributed to this processor's earlier accesses. */
#define take_pending_errors() \
    __asm__ volatile("dsb sy\n\tmsr daifclr, #4\n\tisb\n\tmsr daifset, #4" : : : "memory")

/* Encodings of registers whose names assemblers accept only for later versions of the
 * architecture. */
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
#define RNDR          s3_3_c2_c4_0
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

/* MPIDR_EL1: the RES1 bit. U is 0, and MT is 0 because the guest's VCPUs share no pipeline. The
 * other bits are the affinity. */
#define MPIDR_RES1 UINT64_C(0x80000000)

#define DBGCLAIM_ALL 0xffu /* DBGCLAIMCLR_EL1.CLAIM */

/* Fields of VTCR_EL2. TG0 is 0: pages of 4 KiB. */
#define VTCR_T0SZ_39_BITS     UINT64_C(25)
#define VTCR_SL0_LEVEL_1      (UINT64_C(1) << 6)
#define VTCR_IRGN0_WRITE_BACK (UINT64_C(1) << 8)
#define VTCR_ORGN0_WRITE_BACK (UINT64_C(1) << 10)
#define VTCR_SH0_INNER        (UINT64_C(3) << 12)
#define VTCR_PS_SHIFT         16 /* the value is that of ID_AA64MMFR0_EL1.PARange */
#define VTCR_RES1             (UINT64_C(1) << 31)
#define VTCR_BASE                                                                 \
    (VTCR_RES1 | VTCR_SH0_INNER | VTCR_ORGN0_WRITE_BACK | VTCR_IRGN0_WRITE_BACK | \
     VTCR_SL0_LEVEL_1 | VTCR_T0SZ_39_BITS)
#define PHYSICAL_48_BITS UINT64_C(5) /* value of PARange and PS */
#define VTTBR_VMID_SHIFT 48

/* SCTLR_EL1 with MMU and caches off: LSMAOE, nTLSMD, SPAN, EIS, TSCXT, EOS, which are RES1 without
 * the features that define them. */
#define SCTLR_EL1_OFF 0x30d00800
#define STATE_EL1H    UINT64_C(0x3c5) /* SPSR_EL2: EL1h; D, A, I and F masked */

#endif
