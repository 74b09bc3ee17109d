/* SPDX-License-Identifier: BSD-2-Clause */
#include "instructions.h"
#include <stdbool.h>

#define SYSTEM_MASK UINT32_C(0xfff80000) /* all bits above op1 */
#define MSR         UINT32_C(0xd5180000) /* op0 is 3 */
#define SYS         UINT32_C(0xd5080000) /* op0 is 1 */
#define HINT_BEGIN  UINT32_C(0xd5032fdf)
#define HINT_END    UINT32_C(0xd5032fff)
#define DC_ZVA      UINT32_C(0xd50b7420)
#define RT_MASK     UINT32_C(0x1f)
#define OP1_SHIFT   16u
#define OP1_MASK    7u
#define OP1_EL1     0u
#define OP1_EL2     4u
#define OP2_SHIFT   5u
#define OP2_MASK    7u
#define CRN_SHIFT   12u
#define CRM_SHIFT   8u
#define FIELD_MASK  15u
/* CRn of SCTLR_ELx and HCR_EL2; of TTBRn_ELx, TCR_ELx, VTTBR_EL2 and VTCR_EL2; of TLBI. */
#define CRN_CONTROL 1u
#define CRN_TABLES  2u
#define CRN_TLBI    8u
/* CRm of TLBI: below 4 for the shareable domains, from 4 on for the processor. */
#define CRM_OWN 4u
/* With op1 of EL2: CRm of IPAS2E1 and RIPAS2E1, but for bit 2, and op2 of VMALLS12E1. */
#define CRM_IPA         0u
#define OP2_BOTH_STAGES 6u

/* Returns true for a TLBI of EL1, and for those of EL2 of an IPA, or of both stages of a VMID. */
static bool is_for_vmid(uint32_t code)
{
    uint32_t op1 = code >> OP1_SHIFT & OP1_MASK, crm = code >> CRM_SHIFT & FIELD_MASK;

    return op1 == OP1_EL1 ||
           (op1 == OP1_EL2 &&
            ((crm & ~CRM_OWN) == CRM_IPA || (code >> OP2_SHIFT & OP2_MASK) == OP2_BOTH_STAGES));
}

static enum system_instruction tlbi_kind(uint32_t code)
{
    bool is_own = (code >> CRM_SHIFT & FIELD_MASK) >= CRM_OWN;

    if (is_for_vmid(code)) {
        return is_own ? INSTRUCTION_TLBI_VMID : INSTRUCTION_TLBI_VMID_ALL;
    }
    return is_own ? INSTRUCTION_TLBI : INSTRUCTION_TLBI_ALL;
}

enum system_instruction instruction_kind(uint32_t code)
{
    uint32_t crn = code >> CRN_SHIFT & FIELD_MASK;

    if (code == HINT_BEGIN) {
        return INSTRUCTION_BEGIN;
    }
    if (code == HINT_END) {
        return INSTRUCTION_END;
    }
    if ((code & ~RT_MASK) == DC_ZVA) {
        return INSTRUCTION_ZERO;
    }
    if ((code & SYSTEM_MASK) == MSR && (crn == CRN_CONTROL || crn == CRN_TABLES)) {
        return INSTRUCTION_TRANSLATION_REGISTER;
    }
    if ((code & SYSTEM_MASK) == SYS && crn == CRN_TLBI) {
        return tlbi_kind(code);
    }
    return INSTRUCTION_OTHER;
}

uint32_t instruction_register(uint32_t code)
{
    return code & RT_MASK;
}
