/* SPDX-License-Identifier: BSD-2-Clause */
#include "monitor/inject.h"

#include "monitor/syndrome.h"

/* SPSR_EL2 of an exception from AArch64 (Arm ARM, SPSR_EL2). */
#define STATE_AARCH32 (UINT64_C(1) << 4)
#define STATE_LEVEL   (UINT64_C(3) << 2)
#define STATE_LEVEL1  (UINT64_C(1) << 2)
#define STATE_SPX     UINT64_C(1)
#define STATE_MASKED  (UINT64_C(0xf) << 6) /* D, A, I, F */
#define STATE_SSBS    (UINT64_C(1) << 12)
#define STATE_PAN     (UINT64_C(1) << 22)
#define STATE_DIT     (UINT64_C(1) << 24)
#define STATE_TCO     (UINT64_C(1) << 25)
#define STATE_FLAGS   (UINT64_C(0xf) << 28) /* N, Z, C, V */
#define CONTROL_SPAN  (UINT64_C(1) << 23)   /* SCTLR_EL1: PSTATE.PAN stays as it is */
#define CONTROL_DSSBS (UINT64_C(1) << 44)   /* SCTLR_EL1: PSTATE.SSBS is set */

/* Vectors of synchronous exceptions. */
#define FROM_EL1_SP0     0x000u
#define FROM_EL1_SPX     0x200u
#define FROM_EL0_AARCH64 0x400u
#define FROM_EL0_AARCH32 0x600u

#define SAME_LEVEL      1u /* added to the class of an abort from a lower level */
#define CLASS_SHIFT     26
#define LONG            (UINT64_C(1) << 25) /* IL: an instruction of 32 bits */
#define CACHE           (UINT64_C(1) << 8)
#define WRITE           (UINT64_C(1) << 6)
#define STATUS_EXTERNAL UINT64_C(0x10)

static bool is_level1(uint64_t state)
{
    return (state & (STATE_AARCH32 | STATE_LEVEL)) == STATE_LEVEL1;
}

/* ISV is clear for external aborts to EL1; CM and WnR are those of the access. */
uint64_t inject_abort_syndrome(uint64_t syndrome, uint64_t state)
{
    uint64_t exception_class = SYNDROME_CLASS(syndrome), specific = STATUS_EXTERNAL;

    if (exception_class == CLASS_DATA) {
        specific |= syndrome & (CACHE | WRITE);
    }
    if (is_level1(state)) {
        exception_class += SAME_LEVEL;
    }
    return exception_class << CLASS_SHIFT | (syndrome & LONG) | specific;
}

uint64_t inject_vector_offset(uint64_t state)
{
    if (is_level1(state)) {
        return (state & STATE_SPX) != 0 ? FROM_EL1_SPX : FROM_EL1_SP0;
    }
    return (state & STATE_AARCH32) != 0 ? FROM_EL0_AARCH32 : FROM_EL0_AARCH64;
}

/* Bits of features that the processor lacks are ignored when SPSR_EL2 is restored. */
uint64_t inject_state(uint64_t state, uint64_t control)
{
    uint64_t entered = STATE_LEVEL1 | STATE_SPX | STATE_MASKED;

    /* In an AArch32 state DIT and TCO's places have other meanings (Arm ARM, SPSR_EL2). */
    entered |= state & (STATE_FLAGS | STATE_PAN);
    if ((state & STATE_AARCH32) == 0) {
        entered |= state & STATE_DIT;
    }
    if ((control & CONTROL_SPAN) == 0) {
        entered |= STATE_PAN;
    }
    if ((control & CONTROL_DSSBS) != 0) {
        entered |= STATE_SSBS;
    }
    return entered | STATE_TCO;
}
