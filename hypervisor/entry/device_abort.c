/* SPDX-License-Identifier: BSD-2-Clause */
#include "entry/device_abort.h"

#include "entry/syndrome.h"

#define WRITE             (UINT64_C(1) << 6)
#define ADDRESS_NOT_VALID (UINT64_C(1) << 10)
#define STATUS(iss)       ((iss) & 0x3f)
#define STATUS_EXTERNAL   0x10u /* synchronous external abort, not on a table walk */

/* Fields of PAR_EL1 (Arm ARM): F, and ATTR, which is coded as in MAIR_EL2. */
#define TRANSLATION_FAILED     UINT64_C(1)
#define TRANSLATION_ATTRIBUTES 56
#define ATTRIBUTES_DEVICE      0x04u /* Device-nGnRE: MONITOR_DEVICE (memory/tables.h) */

/* Rt of a load or store of one register. */
#define TARGET(instruction) ((instruction) & 0x1fu)

bool device_abort_can_skip(uint64_t syndrome, uint64_t translation)
{
    return SYNDROME_CLASS(syndrome) == CLASS_DATA_SAME && STATUS(syndrome) == STATUS_EXTERNAL &&
           (syndrome & ADDRESS_NOT_VALID) == 0 && (translation & TRANSLATION_FAILED) == 0 &&
           translation >> TRANSLATION_ATTRIBUTES == ATTRIBUTES_DEVICE;
}

void device_abort_skip(struct registers *registers, uint64_t syndrome, uint32_t instruction)
{
    if ((syndrome & WRITE) == 0 && TARGET(instruction) != NO_REGISTER) {
        registers->x[TARGET(instruction)] = UINT64_MAX;
    }
    registers->pc += INSTRUCTION_BYTES;
}
