/* SPDX-License-Identifier: BSD-2-Clause */
#include "vcpu/undefined.h"

/* Fields of SPSR_EL1 after an exception from AArch64 or from AArch32 (Arm ARM). */
#define STATE_MODE       UINT64_C(0xf) /* AArch64: M[3:2]: exception level, M[0]: stack pointer */
#define STATE_EL0T       UINT64_C(0x0)
#define STATE_EL1T       UINT64_C(0x4)
#define STATE_EL1H       UINT64_C(0x5)
#define STATE_AARCH32    (UINT64_C(1) << 4)
#define STATE_MASKS      UINT64_C(0x3c0) /* D, A, I, F */
#define STATE_SSBS       (UINT64_C(1) << 12)
#define STATE_DIT_32     (UINT64_C(1) << 21)
#define STATE_PAN        (UINT64_C(1) << 22)
#define STATE_DIT        (UINT64_C(1) << 24)
#define STATE_TCO        (UINT64_C(1) << 25)
#define STATE_CONDITIONS (UINT64_C(0xf) << 28) /* N, Z, C, V */

/* Bits of SCTLR_EL1. */
#define CONTROL_SPAN  (UINT64_C(1) << 23) /* an exception does not change PSTATE.PAN */
#define CONTROL_DSSBS (UINT64_C(1) << 44) /* value of PSTATE.SSBS after an exception */

/* Offsets of vectors for synchronous exceptions (Arm ARM, "Exception vectors"). */
#define FROM_EL1_SP0 0x000u
#define FROM_EL1_SP1 0x200u
#define FROM_EL0     0x400u
#define FROM_EL0_A32 0x600u

uint64_t exception_offset(uint64_t state)
{
    if ((state & STATE_AARCH32) != 0) {
        return FROM_EL0_A32;
    }
    switch (state & STATE_MODE) {
    case STATE_EL0T:
        return FROM_EL0;
    case STATE_EL1T:
        return FROM_EL1_SP0;
    default:
        return FROM_EL1_SP1;
    }
}

uint64_t exception_state(uint64_t state, const struct exception_context *context)
{
    uint64_t dit = (state & STATE_AARCH32) != 0 ? STATE_DIT_32 : STATE_DIT;
    uint64_t taken = STATE_EL1H | STATE_MASKS | (state & (STATE_CONDITIONS | STATE_PAN));

    if ((state & dit) != 0) {
        taken |= STATE_DIT;
    }
    if (context->has_pan && (context->control & CONTROL_SPAN) == 0) {
        taken |= STATE_PAN;
    }
    if (context->has_ssbs && (context->control & CONTROL_DSSBS) != 0) {
        taken |= STATE_SSBS;
    }
    if (context->has_allocation_tags) {
        taken |= STATE_TCO;
    }
    return taken;
}
