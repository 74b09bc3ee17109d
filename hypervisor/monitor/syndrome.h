/* SPDX-License-Identifier: BSD-2-Clause */
/* What ESR_EL2 says (Arm ARM, ESR_EL2 and its ISS encodings). */
#ifndef MONITOR_SYNDROME_H
#define MONITOR_SYNDROME_H

#include "hypervisor/access.h"
#include <stdbool.h>
#include <stdint.h>

#define SYNDROME_CLASS(syndrome) ((unsigned)((syndrome) >> 26 & 0x3f))
#define CLASS_HVC                0x16u
#define CLASS_SMC                0x17u
#define CLASS_REGISTER           0x18u /* MSR, MRS and system instructions */
#define CLASS_FETCH              0x20u
#define CLASS_DATA               0x24u

/* Of a trapped MSR, MRS or system instruction: which one, without direction and register. */
#define REGISTER_NAME(op0, op1, crn, crm, op2) \
    ((op0) << 20 | (op2) << 17 | (op1) << 14 | (crn) << 10 | (crm) << 1)
#define REGISTER_NAME_MASK   0x3ffc1eu
#define REGISTER_SGI1R       REGISTER_NAME(3u, 0u, 12u, 11u, 5u) /* ICC_SGI1R_EL1 */
#define REGISTER_READ(iss)   (((iss) & 1u) != 0)
#define REGISTER_TARGET(iss) ((iss) >> 5 & 0x1fu)

/*
 * A load or store that the hardware describes whole (ISV), and that a stage 2 translation fault
 * stopped. False: anything else, like a pair, an atomic, or the guest's own table walk.
 */
bool syndrome_access(uint64_t syndrome, struct access *access, unsigned *target);

/* What a load leaves in its register: sign-extended or not, to 32 or 64 bits. */
uint64_t syndrome_loaded(uint64_t syndrome, uint64_t value);

#endif
