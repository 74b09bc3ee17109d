/* SPDX-License-Identifier: BSD-2-Clause */
#include "instructions.h"

#define SYSTEM_MASK UINT32_C(0xfff80000) /* all bits above op1 */
#define MSR         UINT32_C(0xd5180000) /* op0 is 3 */
#define SYS         UINT32_C(0xd5080000) /* op0 is 1 */
#define DC_ZVA      UINT32_C(0xd50b7420)
#define RT_MASK     UINT32_C(0x1f)
#define CRN_SHIFT   12u
#define CRM_SHIFT   8u
#define FIELD_MASK  15u
/* CRn of SCTLR_ELx and HCR_EL2; of TTBRn_ELx, TCR_ELx, VTTBR_EL2 and VTCR_EL2; of TLBI. */
#define CRN_CONTROL 1u
#define CRN_TABLES  2u
#define CRN_TLBI    8u
/* CRm of TLBI: below 4 for the shareable domains, from 4 on for the processor. */
#define CRM_OWN 4u

enum system_instruction instruction_kind(uint32_t code)
{
    uint32_t crn = code >> CRN_SHIFT & FIELD_MASK;

    if ((code & ~RT_MASK) == DC_ZVA) {
        return INSTRUCTION_ZERO;
    }
    if ((code & SYSTEM_MASK) == MSR && (crn == CRN_CONTROL || crn == CRN_TABLES)) {
        return INSTRUCTION_TRANSLATION_REGISTER;
    }
    if ((code & SYSTEM_MASK) == SYS && crn == CRN_TLBI) {
        return (code >> CRM_SHIFT & FIELD_MASK) < CRM_OWN ? INSTRUCTION_TLBI_ALL : INSTRUCTION_TLBI;
    }
    return INSTRUCTION_OTHER;
}

uint32_t instruction_register(uint32_t code)
{
    return code & RT_MASK;
}
