/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Bits of the EL2 registers that control a guest, and fields of the ID registers that describe
 * whether the processor has these bits. The names are those of the Arm ARM.
 */
#ifndef VCPU_CONTROLS_H
#define VCPU_CONTROLS_H

#include <stdint.h>

#define CONTROL_BIT(number) (UINT64_C(1) << (number))
/* A mask of the bits `first` to `last`. */
#define CONTROL_BITS(first, last) (CONTROL_BIT((last) + 1) - CONTROL_BIT(first))

#define HCR_VM     CONTROL_BIT(0)  /* enables stage 2 translation */
#define HCR_SWIO   CONTROL_BIT(1)  /* invalidation by set and way also cleans */
#define HCR_FMO    CONTROL_BIT(3)  /* FIQs are taken to EL2 */
#define HCR_IMO    CONTROL_BIT(4)  /* IRQs are taken to EL2, and virtual IRQs are enabled */
#define HCR_AMO    CONTROL_BIT(5)  /* SErrors are taken to EL2 */
#define HCR_TWI    CONTROL_BIT(13) /* traps WFI */
#define HCR_TID3   CONTROL_BIT(18) /* traps the feature ID registers */
#define HCR_TSC    CONTROL_BIT(19) /* traps SMC */
#define HCR_TIDCP  CONTROL_BIT(20) /* traps IMPLEMENTATION DEFINED registers */
#define HCR_TACR   CONTROL_BIT(21) /* traps ACTLR_EL1 */
#define HCR_TSW    CONTROL_BIT(22) /* traps cache maintenance by set and way */
#define HCR_RW     CONTROL_BIT(31) /* EL1 is AArch64 */
#define HCR_E2H    CONTROL_BIT(34) /* VHE: EL2 has the registers of a host kernel */
#define HCR_TLOR   CONTROL_BIT(35) /* traps LOR registers */
#define HCR_TERR   CONTROL_BIT(36) /* traps RAS error records */
#define HCR_APK    CONTROL_BIT(40) /* pointer authentication: its keys do not trap */
#define HCR_API    CONTROL_BIT(41) /* pointer authentication: its instructions do not trap */
#define HCR_TICAB  CONTROL_BIT(50) /* traps IC IALLUIS */
#define HCR_TTLBIS CONTROL_BIT(54) /* traps TLBI of the Inner Shareable domain */
#define HCR_TTLBOS CONTROL_BIT(55) /* traps TLBI of the Outer Shareable domain */
#define HCR_TID5   CONTROL_BIT(58) /* traps GMID_EL1 */

/* HCR_EL2 bits for every guest. IMO is 0 for direct interrupts, which the guest takes itself
 * (docs/decisions/0013). TTLB*, TOCU and TICAB are 0, so TLB and cache maintenance does not
 * trap. */
#define HCR_GUEST                                                                                  \
    (HCR_VM | HCR_SWIO | HCR_FMO | HCR_AMO | HCR_TID3 | HCR_TSC | HCR_TIDCP | HCR_TACR | HCR_TSW | \
     HCR_RW)

/* Further HCR_EL2 bits for a guest whose broadcast maintenance is made local
 * (docs/decisions/0021). */
#define HCR_LOCAL_MAINTENANCE (HCR_TICAB | HCR_TTLBIS | HCR_TTLBOS)

/* Bits of HCRX_EL2. EnALS, EnAS0, EnASR, TCR2En, SCTLR2En, D128En, GCSEn and EnFPM stay 0, so that
 * the instructions and registers of these features trap. */
#define HCRX_MSCEN CONTROL_BIT(11) /* memory copy and set instructions are enabled */

/* Bits of CPTR_EL2 while E2H is 0. */
#define CPTR_RES1 UINT64_C(0x33ff) /* RES1; TZ and TSM: traps SVE and SME */
#define CPTR_TFP  CONTROL_BIT(10)  /* traps FP and SIMD */
#define CPTR_TTA  CONTROL_BIT(20)  /* traps trace registers */
#define CPTR_TAM  CONTROL_BIT(30)  /* traps activity monitors */

/* Bits of MDCR_EL2. HPMN, its lowest bits, is the number of event counters of the guest. E2PB and
 * E2TB stay 0, so that accesses to the buffer registers of SPE and TRBE trap. */
#define MDCR_HPMN  UINT64_C(0x1f)
#define MDCR_TPM   CONTROL_BIT(6)  /* traps performance monitors */
#define MDCR_HPME  CONTROL_BIT(7)  /* the event counters from HPMN on count */
#define MDCR_TDA   CONTROL_BIT(9)  /* traps debug registers; needs TDOSA and TDRA */
#define MDCR_TDOSA CONTROL_BIT(10) /* traps OS lock, OS double lock, DBGPRCR_EL1 */
#define MDCR_TDRA  CONTROL_BIT(11) /* traps MDRAR_EL1 */
#define MDCR_TPMS  CONTROL_BIT(14) /* traps SPE controls */
#define MDCR_HPMD  CONTROL_BIT(17) /* event counters do not count at EL2 */
#define MDCR_TTRF  CONTROL_BIT(19) /* traps TRFCR_EL1 */
#define MDCR_HCCD  CONTROL_BIT(23) /* PMCCNTR_EL0 does not count at EL2 */

#define MPAM2_TRAPMPAM1EL1 CONTROL_BIT(48)
#define MPAM2_TRAPMPAM0EL1 CONTROL_BIT(49)
#define MPAM2_TIDR         CONTROL_BIT(58)

/*
 * Masks for the fine-grained trap registers, such as HFGRTR_EL2. A bit whose name in the manual
 * starts with n traps while it is 0: nACCDATA_EL1, nGCS_*, nRCWMASK_EL1, nTPIDR2_EL0, nSMPRI_EL1,
 * nPIR*, nPOR*, nMAIR2_EL1, nBRB* and others. These bits stay 0, because the features are hidden
 * from guests. All other bits trap while they are 1. Each mask has the bits of one feature's
 * registers. A read-only register has no bit in the register that traps writes.
 */
#define HFGRTR_LOR CONTROL_BITS(19, 23) /* LORC_EL1, LOREA, LORID, LORN, LORSA */
#define HFGWTR_LOR (CONTROL_BITS(19, 20) | CONTROL_BITS(22, 23)) /* without LORID_EL1 */
#define HFGRTR_ERR CONTROL_BITS(40, 49)                          /* ERRIDR_EL1, ERRSELR, ERX* */
/* Without ERRIDR_EL1, ERXFR_EL1 and ERXPFGF_EL1. */
#define HFGWTR_ERR (CONTROL_BIT(41) | CONTROL_BITS(43, 45) | CONTROL_BITS(47, 49))

#define HFGITR_COSPRCTX CONTROL_BIT(60)
#define HFGITR_ATS1E1A  CONTROL_BIT(62)

#define HDFGRTR_SPE (CONTROL_BITS(23, 32) | CONTROL_BIT(63))      /* PMB*, PMS*; PMBIDR_EL1 */
#define HDFGWTR_SPE (CONTROL_BITS(23, 29) | CONTROL_BITS(31, 32)) /* without PMSIDR, PMBIDR */
/* TRC*. */
#define HDFGRTR_TRC (CONTROL_BITS(33, 37) | CONTROL_BITS(40, 41) | CONTROL_BITS(43, 48))
#define HDFGWTR_TRC                                                                         \
    (CONTROL_BIT(33) | CONTROL_BITS(35, 37) | CONTROL_BITS(41, 42) | CONTROL_BITS(44, 46) | \
     CONTROL_BIT(48))
#define HDFGRTR_TRB       CONTROL_BITS(50, 56)                     /* TRB* */
#define HDFGWTR_TRB       (CONTROL_BIT(50) | CONTROL_BITS(52, 56)) /* without TRBIDR_EL1 */
#define HDFGWTR_TRFCR_EL1 CONTROL_BIT(49)                          /* MDCR_EL2.TTRF traps reads */

#define HAFGRTR_ALL (CONTROL_BITS(0, 4) | CONTROL_BITS(17, 49)) /* AMCNTEN*, AMEV* */

/* Positions of the lowest bits of fields of ID_AA64PFR0_EL1, PFR1, DFR0, ISAR0, ISAR1, ISAR2,
 * MMFR0, MMFR1 and MMFR2. */
#define PFR0_GIC         24
#define PFR0_RAS         28
#define PFR0_MPAM        40
#define PFR0_AMU         44
#define PFR1_SSBS        4
#define PFR1_MTE         8
#define PFR1_MPAM_FRAC   16
#define DFR0_TRACEVER    4
#define DFR0_PMUVER      8
#define DFR0_BRPS        12
#define DFR0_WRPS        20
#define DFR0_PMSVER      32
#define DFR0_TRACEFILT   40
#define DFR0_TRACEBUFFER 44
#define ISAR0_RNDR       60
#define ISAR1_SPECRES    40
#define ISAR2_MOPS       16
#define ISAR2_ATS1A      60
#define MMFR0_PARANGE    0
#define MMFR0_FGT        56
#define MMFR1_VH         8
#define MMFR1_LO         16
#define MMFR1_PAN        20
#define MMFR1_HCX        40
#define MMFR2_EVT        56

#define PMU_V3P1             4u /* FEAT_PMUv3p1: MDCR_EL2.HPMD */
#define PMU_V3P5             6u /* FEAT_PMUv3p5: MDCR_EL2.HCCD */
#define MTE_WITH_MEMORY      2u /* FEAT_MTE2: TCO, GMID_EL1 */
#define SPECRES_WITHOUT_COSP 1u
#define EVT_WITH_TLB         2u /* FEAT_EVT: TTLBIS and TTLBOS, besides TICAB */
#define FGT_WITH_SECOND      2u /* FEAT_FGT2: HFGRTR2_EL2 and so on */

#define ISAR1_POINTER_AUTHENTICATION UINT64_C(0xff000ff0) /* APA, API, GPA, GPI */
#define ISAR2_POINTER_AUTHENTICATION UINT64_C(0x0000ff00) /* GPA3, APA3 */

#endif
