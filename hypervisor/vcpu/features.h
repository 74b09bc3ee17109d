/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The processor's features: the values of ID registers that a guest reads, and the EL2 controls
 * that trap the features hidden from the guest (Arm ARM, "AArch64 System register descriptions"). A
 * table in features.c lists the fields of ID registers that a guest sees.
 */
#ifndef VCPU_FEATURES_H
#define VCPU_FEATURES_H

#include <stdbool.h>
#include <stdint.h>

/* The feature ID space: op0 3, op1 0, CRn 0, CRm 1 to 7. HCR_EL2.TID3 traps all of it. A register's
 * number is CRm << 3 | op2. */
#define ID_REGISTER(crm, op2) ((crm) << 3 | (op2))
#define ID_REGISTER_FIRST     ID_REGISTER(1u, 0u)
#define ID_REGISTERS          64u

#define ID_PFR0_EL1      ID_REGISTER(1u, 0u)
#define ID_PFR1_EL1      ID_REGISTER(1u, 1u)
#define ID_DFR0_EL1      ID_REGISTER(1u, 2u)
#define ID_MMFR0_EL1     ID_REGISTER(1u, 4u)
#define ID_MMFR1_EL1     ID_REGISTER(1u, 5u)
#define ID_MMFR2_EL1     ID_REGISTER(1u, 6u)
#define ID_MMFR3_EL1     ID_REGISTER(1u, 7u)
#define ID_ISAR0_EL1     ID_REGISTER(2u, 0u)
#define ID_ISAR1_EL1     ID_REGISTER(2u, 1u)
#define ID_ISAR2_EL1     ID_REGISTER(2u, 2u)
#define ID_ISAR3_EL1     ID_REGISTER(2u, 3u)
#define ID_ISAR4_EL1     ID_REGISTER(2u, 4u)
#define ID_ISAR5_EL1     ID_REGISTER(2u, 5u)
#define ID_MMFR4_EL1     ID_REGISTER(2u, 6u)
#define ID_ISAR6_EL1     ID_REGISTER(2u, 7u)
#define MVFR0_EL1        ID_REGISTER(3u, 0u)
#define MVFR1_EL1        ID_REGISTER(3u, 1u)
#define MVFR2_EL1        ID_REGISTER(3u, 2u)
#define ID_PFR2_EL1      ID_REGISTER(3u, 4u)
#define ID_DFR1_EL1      ID_REGISTER(3u, 5u)
#define ID_MMFR5_EL1     ID_REGISTER(3u, 6u)
#define ID_AA64PFR0_EL1  ID_REGISTER(4u, 0u)
#define ID_AA64PFR1_EL1  ID_REGISTER(4u, 1u)
#define ID_AA64DFR0_EL1  ID_REGISTER(5u, 0u)
#define ID_AA64ISAR0_EL1 ID_REGISTER(6u, 0u)
#define ID_AA64ISAR1_EL1 ID_REGISTER(6u, 1u)
#define ID_AA64ISAR2_EL1 ID_REGISTER(6u, 2u)
#define ID_AA64ISAR3_EL1 ID_REGISTER(6u, 3u)
#define ID_AA64MMFR0_EL1 ID_REGISTER(7u, 0u)
#define ID_AA64MMFR1_EL1 ID_REGISTER(7u, 1u)
#define ID_AA64MMFR2_EL1 ID_REGISTER(7u, 2u)

/* Returns the field of an ID register whose lowest bit is `shift`. */
#define ID_FIELD(value, shift) ((unsigned)((value) >> (shift) & 0xf))

/* Value of PMUVer: the PMU is IMPLEMENTATION DEFINED. 0 means that there is no PMU. */
#define ID_PMU_IMPLEMENTATION_DEFINED 15u

/* The processor's features, from which features_control() derives the controls. */
struct features {
    uint64_t pfr0, pfr1;   /* ID_AA64PFR0_EL1, ID_AA64PFR1_EL1 */
    uint64_t dfr0;         /* ID_AA64DFR0_EL1 */
    uint64_t isar1, isar2; /* ID_AA64ISAR1_EL1, ID_AA64ISAR2_EL1 */
    uint64_t mmfr0, mmfr1; /* ID_AA64MMFR0_EL1, ID_AA64MMFR1_EL1 */
    unsigned counters;     /* number of event counters, PMCR_EL0.N; 0 without a PMU */
    bool has_pmu;
};

/* Values of the EL2 registers with these names (hcr: HCR_EL2). */
struct controls {
    uint64_t hcr, hcrx, cptr, mdcr, mpam2;
    uint64_t hfgrtr, hfgwtr, hfgitr, hdfgrtr, hdfgwtr, hafgrtr;
};

/* Returns the value that a guest reads from an ID register. `id_register`: an ID_REGISTER().
 * `value`: the processor's value. */
uint64_t features_shown(unsigned id_register, uint64_t value);

/* Sets the controls for a guest on a processor with these features: every feature that
 * features_shown() hides is trapped. A bit stays 0 if the processor lacks its feature, because it
 * is RES0 then. */
void features_control(const struct features *features, struct controls *controls);

/* Returns true if the processor has pointer authentication (FEAT_PAuth). */
bool features_have_pointer_authentication(const struct features *features);

/* id_registers.S: returns the processor's value of an ID register. `id_register`: ID_REGISTER_FIRST
 * to ID_REGISTERS - 1. At EL2. */
uint64_t id_register_read(unsigned id_register);

#endif
