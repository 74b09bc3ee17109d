/* SPDX-License-Identifier: BSD-2-Clause */
#include "monitor/inject.h"

#include "monitor/syndrome.h"

/* SPSR_EL2 of an exception from AArch64 (Arm ARM, SPSR_EL2). */
#define STATE_AARCH32 (UINT64_C(1) << 4)
#define STATE_LEVEL   (UINT64_C(3) << 2)
#define STATE_LEVEL1  (UINT64_C(1) << 2)

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
