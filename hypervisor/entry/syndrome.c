/* SPDX-License-Identifier: BSD-2-Clause */
#include "entry/syndrome.h"

/* Fields of the ISS of an exception from a Data Abort (Arm ARM). */
#define VALID               (UINT64_C(1) << 24)
#define SIZE(iss)           ((unsigned)((iss) >> 22 & 3))
#define SIGN_EXTENDED       (UINT64_C(1) << 21)
#define TARGET(iss)         ((unsigned)((iss) >> 16 & 0x1f))
#define SIXTY_FOUR          (UINT64_C(1) << 15)
#define CACHE               (UINT64_C(1) << 8)
#define OF_TABLE_WALK       (UINT64_C(1) << 7)
#define WRITE               (UINT64_C(1) << 6)
#define STATUS(iss)         ((iss) & 0x3c) /* fault status without the level */
#define STATUS_ADDRESS_SIZE 0x00u
#define STATUS_NO_MAP       0x04u
#define STATUS_ACCESS_FLAG  0x08u

/* Fault status codes of mapped addresses, bit n for code n: permission faults of the four levels,
 * alignment, and an exclusive or atomic access to memory that has none. */
#define WHOLE_STATUS(iss) ((iss) & 0x3f)
#define STATUSES_MAPPED   (UINT64_C(0xf) << 0x0c | UINT64_C(1) << 0x21 | UINT64_C(1) << 0x35)

#define CLASS_SHIFT     26
#define SAME_LEVEL      1u                  /* added to the class if the abort interrupted EL1 */
#define LONG            (UINT64_C(1) << 25) /* IL: the instruction has 32 bits */
#define STATUS_EXTERNAL UINT64_C(0x10)      /* synchronous external abort, not on a table walk */

/* Fields of SPSR_EL2. */
#define STATE_AARCH32 (UINT64_C(1) << 4)
#define STATE_LEVEL   (UINT64_C(3) << 2)
#define STATE_LEVEL1  (UINT64_C(1) << 2)

bool syndrome_access(uint64_t syndrome, struct access *access, unsigned *target)
{
    access->bytes = (uint8_t)(1u << SIZE(syndrome));
    access->write = (syndrome & WRITE) != 0;
    *target = TARGET(syndrome);
    return (syndrome & VALID) != 0 && (syndrome & (CACHE | OF_TABLE_WALK)) == 0 &&
           STATUS(syndrome) == STATUS_NO_MAP;
}

bool syndrome_of_table_walk(uint64_t syndrome)
{
    return (syndrome & OF_TABLE_WALK) != 0;
}

bool syndrome_is_of_mapped_address(uint64_t syndrome)
{
    return (STATUSES_MAPPED >> WHOLE_STATUS(syndrome) & 1) != 0;
}

/* The ISS of an external abort that EL1 takes has ISV 0, and the CM and WnR of the access. */
uint64_t syndrome_external_abort(uint64_t syndrome, uint64_t state)
{
    uint64_t exception_class = SYNDROME_CLASS(syndrome), specific = STATUS_EXTERNAL;

    if (exception_class == CLASS_DATA) {
        specific |= syndrome & (CACHE | WRITE);
    }
    if ((state & (STATE_AARCH32 | STATE_LEVEL)) == STATE_LEVEL1) {
        exception_class += SAME_LEVEL;
    }
    return exception_class << CLASS_SHIFT | (syndrome & LONG) | specific;
}

uint64_t syndrome_loaded(uint64_t syndrome, uint64_t value)
{
    unsigned shift = 64 - (8u << SIZE(syndrome));

    if ((syndrome & SIGN_EXTENDED) != 0) {
        value = (uint64_t)((int64_t)(value << shift) >> shift);
    }
    return (syndrome & SIXTY_FOUR) != 0 ? value : (uint32_t)value;
}

bool syndrome_has_address(uint64_t syndrome)
{
    unsigned exception_class = SYNDROME_CLASS(syndrome);

    if (exception_class != CLASS_DATA && exception_class != CLASS_FETCH) {
        return false;
    }
    return (syndrome & OF_TABLE_WALK) != 0 || STATUS(syndrome) == STATUS_ADDRESS_SIZE ||
           STATUS(syndrome) == STATUS_NO_MAP || STATUS(syndrome) == STATUS_ACCESS_FLAG;
}
