/* SPDX-License-Identifier: BSD-2-Clause */
#include "vcpu/features.h"
#include "vcpu/controls.h"

#include <stddef.h>

/*
 * The fields of ID registers that a guest sees. It reads the smaller of the processor's value and
 * the limit in this table. The limit is the last version of the feature that needs no other EL2
 * settings than those of features_control(). A field that is not in the table reads as 0: not
 * implemented.
 */
/* How a guest reads a field. */
enum kind {
    UNSIGNED, /* the value 0 means not implemented */
    SIGNED,   /* the value 15 means not implemented, as in ID_AA64PFR0_EL1.FP */
    WHOLE     /* the entry is for all 64 bits, which the guest sees unchanged */
};

#define ENTRY(id_register, shift, limit, kind) \
    ((uint16_t)((id_register) | (shift) / 4u << 6 | (limit) << 10 | (kind) << 14))
#define ENTRY_REGISTER(entry) ((entry) & 0x3fu)
#define ENTRY_FIELD(entry)    ((entry) >> 6 & 0xfu)
#define ENTRY_LIMIT(entry)    ((entry) >> 10 & 0xfu)
#define ENTRY_KIND(entry)     ((enum kind)((entry) >> 14))

#define NOT_IMPLEMENTED_SIGNED 15u

/* `name`: the name of the field in the Arm ARM. */
#define SHOW(id_register, name, shift, limit)        ENTRY(id_register, shift, limit, UNSIGNED)
#define SHOW_SIGNED(id_register, name, shift, limit) ENTRY(id_register, shift, limit, SIGNED)
#define HIDE_SIGNED(id_register, name, shift)        ENTRY(id_register, shift, 15u, SIGNED)
#define SHOW_WHOLE(id_register)                      ENTRY(id_register, 0u, 0u, WHOLE)

static const uint16_t shown_fields[] = {
    /* Hidden: EL3, SEL2, RAS, SVE, MPAM, AMU, RME. EL1 is AArch64 alone (HCR_EL2.RW). EL2 is
     * shown: a guest that takes EL1 for the highest Exception level may write CNTFRQ_EL0, as Zephyr
     * does. That is UNDEFINED at EL1, and no trap to EL2 precedes it (Arm ARM, CNTFRQ_EL0). */
    SHOW(ID_AA64PFR0_EL1, EL0, 0u, 2u),
    SHOW(ID_AA64PFR0_EL1, EL1, 4u, 1u),
    SHOW(ID_AA64PFR0_EL1, EL2, 8u, 1u),
    SHOW_SIGNED(ID_AA64PFR0_EL1, FP, 16u, 1u),
    SHOW_SIGNED(ID_AA64PFR0_EL1, AdvSIMD, 20u, 1u),
    SHOW(ID_AA64PFR0_EL1, GIC, 24u, 1u),
    SHOW(ID_AA64PFR0_EL1, DIT, 48u, 1u),
    SHOW(ID_AA64PFR0_EL1, CSV2, 56u, 1u), /* version 2 has SCXTNUM_ELx */
    SHOW(ID_AA64PFR0_EL1, CSV3, 60u, 1u),
    /* Hidden: MTE, SME, NMI, GCS, THE, PFAR and their dependent features. */
    SHOW(ID_AA64PFR1_EL1, BT, 0u, 1u),
    SHOW(ID_AA64PFR1_EL1, SSBS, 4u, 2u),
    /* Hidden: trace, SPE, TRBE, BRBE, the double lock. */
    SHOW(ID_AA64DFR0_EL1, DebugVer, 0u, 8u),
    SHOW_SIGNED(ID_AA64DFR0_EL1, PMUVer, 8u, 6u), /* 15: implementation defined */
    SHOW(ID_AA64DFR0_EL1, BRPs, 12u, 15u),
    SHOW(ID_AA64DFR0_EL1, WRPs, 20u, 15u),
    SHOW(ID_AA64DFR0_EL1, CTX_CMPs, 28u, 15u),
    HIDE_SIGNED(ID_AA64DFR0_EL1, DoubleLock, 36u),
    HIDE_SIGNED(ID_AA64DFR0_EL1, MTPMU, 48u),
    SHOW(ID_AA64ISAR0_EL1, AES, 4u, 2u),
    SHOW(ID_AA64ISAR0_EL1, SHA1, 8u, 1u),
    SHOW(ID_AA64ISAR0_EL1, SHA2, 12u, 2u),
    SHOW(ID_AA64ISAR0_EL1, CRC32, 16u, 1u),
    SHOW(ID_AA64ISAR0_EL1, Atomic, 20u, 2u),
    SHOW(ID_AA64ISAR0_EL1, RDM, 28u, 1u),
    SHOW(ID_AA64ISAR0_EL1, SHA3, 32u, 1u),
    SHOW(ID_AA64ISAR0_EL1, SM3, 36u, 1u),
    SHOW(ID_AA64ISAR0_EL1, SM4, 40u, 1u),
    SHOW(ID_AA64ISAR0_EL1, DP, 44u, 1u),
    SHOW(ID_AA64ISAR0_EL1, FHM, 48u, 1u),
    SHOW(ID_AA64ISAR0_EL1, TS, 52u, 2u),
    SHOW(ID_AA64ISAR0_EL1, TLB, 56u, 2u),
    SHOW(ID_AA64ISAR0_EL1, RNDR, 60u, 1u),
    /* Hidden: LS64. */
    SHOW(ID_AA64ISAR1_EL1, DPB, 0u, 2u),
    SHOW(ID_AA64ISAR1_EL1, APA, 4u, 5u),
    SHOW(ID_AA64ISAR1_EL1, API, 8u, 5u),
    SHOW(ID_AA64ISAR1_EL1, JSCVT, 12u, 1u),
    SHOW(ID_AA64ISAR1_EL1, FCMA, 16u, 1u),
    SHOW(ID_AA64ISAR1_EL1, LRCPC, 20u, 3u),
    SHOW(ID_AA64ISAR1_EL1, GPA, 24u, 1u),
    SHOW(ID_AA64ISAR1_EL1, GPI, 28u, 1u),
    SHOW(ID_AA64ISAR1_EL1, FRINTTS, 32u, 1u),
    SHOW(ID_AA64ISAR1_EL1, SB, 36u, 1u),
    SHOW(ID_AA64ISAR1_EL1, SPECRES, 40u, 1u),
    SHOW(ID_AA64ISAR1_EL1, BF16, 44u, 1u),
    SHOW(ID_AA64ISAR1_EL1, DGH, 48u, 1u),
    SHOW(ID_AA64ISAR1_EL1, I8MM, 52u, 1u),
    SHOW(ID_AA64ISAR1_EL1, XS, 56u, 1u),
    /* Hidden: 128-bit system registers and instructions, ATS1A. */
    SHOW(ID_AA64ISAR2_EL1, WFxT, 0u, 2u),
    SHOW(ID_AA64ISAR2_EL1, RPRES, 4u, 1u),
    SHOW(ID_AA64ISAR2_EL1, GPA3, 8u, 1u),
    SHOW(ID_AA64ISAR2_EL1, APA3, 12u, 5u),
    SHOW(ID_AA64ISAR2_EL1, MOPS, 16u, 1u),
    SHOW(ID_AA64ISAR2_EL1, BC, 20u, 1u),
    SHOW(ID_AA64ISAR2_EL1, PAC_frac, 24u, 1u),
    SHOW(ID_AA64ISAR2_EL1, CLRBHB, 28u, 1u),
    SHOW(ID_AA64ISAR2_EL1, PRFMSLC, 40u, 1u),
    SHOW(ID_AA64ISAR2_EL1, RPRFM, 48u, 1u),
    SHOW(ID_AA64ISAR2_EL1, CSSC, 52u, 1u),
    SHOW(ID_AA64ISAR3_EL1, FAMINMAX, 4u, 1u),
    SHOW(ID_AA64ISAR3_EL1, LSFE, 16u, 1u),
    SHOW(ID_AA64ISAR3_EL1, FPRCVT, 28u, 1u),
    /* Hidden: granules of stage 2, FGT, the offset of ECV. */
    SHOW(ID_AA64MMFR0_EL1, PARange, 0u, 15u),
    SHOW(ID_AA64MMFR0_EL1, ASIDBits, 4u, 2u),
    SHOW(ID_AA64MMFR0_EL1, BigEnd, 8u, 1u),
    SHOW(ID_AA64MMFR0_EL1, BigEndEL0, 16u, 1u),
    SHOW(ID_AA64MMFR0_EL1, TGran16, 20u, 2u),
    SHOW_SIGNED(ID_AA64MMFR0_EL1, TGran64, 24u, 0u),
    SHOW_SIGNED(ID_AA64MMFR0_EL1, TGran4, 28u, 1u),
    SHOW(ID_AA64MMFR0_EL1, ExS, 44u, 1u),
    SHOW(ID_AA64MMFR0_EL1, ECV, 60u, 1u),
    /* Hidden: VMIDBits, VH, LO, XNX, HCX, TWED. */
    SHOW(ID_AA64MMFR1_EL1, HAFDBS, 0u, 2u),
    SHOW(ID_AA64MMFR1_EL1, HPDS, 12u, 2u),
    SHOW(ID_AA64MMFR1_EL1, PAN, 20u, 3u),
    SHOW(ID_AA64MMFR1_EL1, SpecSEI, 24u, 1u),
    SHOW(ID_AA64MMFR1_EL1, ETS, 36u, 3u),
    SHOW(ID_AA64MMFR1_EL1, AFP, 44u, 1u),
    SHOW(ID_AA64MMFR1_EL1, nTLBPA, 48u, 1u),
    SHOW(ID_AA64MMFR1_EL1, TIDCP1, 52u, 1u),
    SHOW(ID_AA64MMFR1_EL1, ECBHB, 60u, 1u),
    /* Hidden: IESB, NV, FWB, EVT. */
    SHOW(ID_AA64MMFR2_EL1, CnP, 0u, 1u),
    SHOW(ID_AA64MMFR2_EL1, UAO, 4u, 1u),
    SHOW(ID_AA64MMFR2_EL1, LSM, 8u, 1u),
    SHOW(ID_AA64MMFR2_EL1, VARange, 16u, 1u),
    SHOW(ID_AA64MMFR2_EL1, CCIDX, 20u, 1u),
    SHOW(ID_AA64MMFR2_EL1, ST, 28u, 1u),
    SHOW(ID_AA64MMFR2_EL1, AT, 32u, 1u),
    SHOW(ID_AA64MMFR2_EL1, IDS, 36u, 1u),
    SHOW(ID_AA64MMFR2_EL1, TTL, 48u, 1u),
    SHOW(ID_AA64MMFR2_EL1, BBM, 52u, 2u),
    SHOW(ID_AA64MMFR2_EL1, E0PD, 60u, 1u),
    /* AArch32, for EL0. Hidden: RAS, AMU, trace, virtualization and security. */
    SHOW(ID_PFR0_EL1, State0, 0u, 15u),
    SHOW(ID_PFR0_EL1, State1, 4u, 15u),
    SHOW(ID_PFR0_EL1, State2, 8u, 15u),
    SHOW(ID_PFR0_EL1, State3, 12u, 15u),
    SHOW(ID_PFR0_EL1, CSV2, 16u, 1u),
    SHOW(ID_PFR0_EL1, DIT, 24u, 1u),
    SHOW(ID_PFR1_EL1, ProgMod, 0u, 1u),
    SHOW(ID_PFR1_EL1, GenTimer, 16u, 1u),
    SHOW(ID_PFR1_EL1, GIC, 28u, 1u),
    SHOW(ID_PFR2_EL1, CSV3, 0u, 1u),
    SHOW(ID_PFR2_EL1, SSBS, 4u, 1u),
    SHOW(ID_DFR0_EL1, CopDbg, 0u, 8u),
    SHOW_SIGNED(ID_DFR0_EL1, PerfMon, 24u, 6u),
    HIDE_SIGNED(ID_DFR1_EL1, MTPMU, 0u),
    SHOW_WHOLE(ID_MMFR0_EL1),
    SHOW_WHOLE(ID_MMFR1_EL1),
    SHOW_WHOLE(ID_MMFR2_EL1),
    SHOW_WHOLE(ID_MMFR3_EL1),
    SHOW(ID_MMFR4_EL1, SpecSEI, 0u, 1u),
    SHOW(ID_MMFR4_EL1, CnP, 12u, 1u),
    SHOW(ID_MMFR4_EL1, HPDS, 16u, 2u),
    SHOW(ID_MMFR4_EL1, LSM, 20u, 1u),
    SHOW(ID_MMFR4_EL1, CCIDX, 24u, 1u),
    SHOW_WHOLE(ID_MMFR5_EL1),
    SHOW_WHOLE(ID_ISAR0_EL1),
    SHOW_WHOLE(ID_ISAR1_EL1),
    SHOW_WHOLE(ID_ISAR2_EL1),
    SHOW_WHOLE(ID_ISAR3_EL1),
    SHOW_WHOLE(ID_ISAR4_EL1),
    SHOW_WHOLE(ID_ISAR5_EL1),
    SHOW_WHOLE(ID_ISAR6_EL1),
    SHOW_WHOLE(MVFR0_EL1),
    SHOW_WHOLE(MVFR1_EL1),
    SHOW_WHOLE(MVFR2_EL1),
};

static uint64_t shown_field(unsigned entry, unsigned value)
{
    unsigned limit = ENTRY_LIMIT(entry);

    if (ENTRY_KIND(entry) == SIGNED && value == NOT_IMPLEMENTED_SIGNED) {
        return NOT_IMPLEMENTED_SIGNED;
    }
    if (ENTRY_KIND(entry) == SIGNED && limit == NOT_IMPLEMENTED_SIGNED) {
        return NOT_IMPLEMENTED_SIGNED;
    }
    return value < limit ? value : limit;
}

uint64_t features_shown(unsigned id_register, uint64_t value)
{
    uint64_t shown = 0;

    for (size_t i = 0; i < sizeof(shown_fields) / sizeof(shown_fields[0]); i++) {
        unsigned entry = shown_fields[i], shift = 4 * ENTRY_FIELD(entry);

        if (ENTRY_REGISTER(entry) != id_register) {
            continue;
        }
        if (ENTRY_KIND(entry) == WHOLE) {
            return value;
        }
        shown |= shown_field(entry, ID_FIELD(value, shift)) << shift;
    }
    return shown;
}

/* Returns `bits` if the field shows that the processor has the feature, otherwise 0. */
static uint64_t bits_if(unsigned field, uint64_t bits)
{
    return field != 0 ? bits : 0;
}

bool features_have_pointer_authentication(const struct features *features)
{
    return (features->isar1 & ISAR1_POINTER_AUTHENTICATION) != 0 ||
           (features->isar2 & ISAR2_POINTER_AUTHENTICATION) != 0;
}

static uint64_t debug_control(const struct features *features)
{
    unsigned pmu = ID_FIELD(features->dfr0, DFR0_PMUVER);
    uint64_t control = MDCR_TDRA | MDCR_TDOSA | features->counters;

    control |= bits_if(ID_FIELD(features->dfr0, DFR0_PMSVER), MDCR_TPMS);
    control |= bits_if(ID_FIELD(features->dfr0, DFR0_TRACEFILT), MDCR_TTRF);
    if (pmu >= PMU_V3P1 && pmu != ID_PMU_IMPLEMENTATION_DEFINED) {
        control |= MDCR_HPMD;
    }
    if (pmu >= PMU_V3P5 && pmu != ID_PMU_IMPLEMENTATION_DEFINED) {
        control |= MDCR_HCCD;
    }
    return control;
}

static void set_fine_grained(const struct features *features, struct controls *controls)
{
    unsigned ras = ID_FIELD(features->pfr0, PFR0_RAS);
    unsigned regions = ID_FIELD(features->mmfr1, MMFR1_LO);
    unsigned trace = ID_FIELD(features->dfr0, DFR0_TRACEVER);
    unsigned profiling = ID_FIELD(features->dfr0, DFR0_PMSVER);
    unsigned trace_buffer = ID_FIELD(features->dfr0, DFR0_TRACEBUFFER);

    controls->hfgrtr = bits_if(ras, HFGRTR_ERR) | bits_if(regions, HFGRTR_LOR);
    controls->hfgwtr = bits_if(ras, HFGWTR_ERR) | bits_if(regions, HFGWTR_LOR);
    controls->hfgitr = 0;
    if (ID_FIELD(features->isar1, ISAR1_SPECRES) > SPECRES_WITHOUT_COSP) {
        controls->hfgitr |= HFGITR_COSPRCTX;
    }
    controls->hfgitr |= bits_if(ID_FIELD(features->isar2, ISAR2_ATS1A), HFGITR_ATS1E1A);
    controls->hdfgrtr = bits_if(trace, HDFGRTR_TRC) | bits_if(profiling, HDFGRTR_SPE) |
                        bits_if(trace_buffer, HDFGRTR_TRB);
    controls->hdfgwtr = bits_if(trace, HDFGWTR_TRC) | bits_if(profiling, HDFGWTR_SPE) |
                        bits_if(trace_buffer, HDFGWTR_TRB);
    controls->hdfgwtr |= bits_if(ID_FIELD(features->dfr0, DFR0_TRACEFILT), HDFGWTR_TRFCR_EL1);
    controls->hafgrtr = bits_if(ID_FIELD(features->pfr0, PFR0_AMU), HAFGRTR_ALL);
}

void features_control(const struct features *features, struct controls *controls)
{
    bool mpam =
        ID_FIELD(features->pfr0, PFR0_MPAM) != 0 || ID_FIELD(features->pfr1, PFR1_MPAM_FRAC) != 0;

    controls->hcr = HCR_GUEST;
    controls->hcr |= bits_if(ID_FIELD(features->pfr0, PFR0_RAS), HCR_TERR);
    controls->hcr |= bits_if(ID_FIELD(features->mmfr1, MMFR1_LO), HCR_TLOR);
    if (ID_FIELD(features->pfr1, PFR1_MTE) >= MTE_WITH_MEMORY) {
        controls->hcr |= HCR_TID5;
    }
    if (features_have_pointer_authentication(features)) {
        controls->hcr |= HCR_APK | HCR_API;
    }
    controls->hcrx = bits_if(ID_FIELD(features->isar2, ISAR2_MOPS), HCRX_MSCEN);
    controls->cptr = CPTR_RES1;
    controls->cptr |= bits_if(ID_FIELD(features->dfr0, DFR0_TRACEVER), CPTR_TTA);
    controls->cptr |= bits_if(ID_FIELD(features->pfr0, PFR0_AMU), CPTR_TAM);
    controls->mdcr = debug_control(features);
    controls->mpam2 = mpam ? MPAM2_TIDR | MPAM2_TRAPMPAM0EL1 | MPAM2_TRAPMPAM1EL1 : 0;
    set_fine_grained(features, controls);
}
