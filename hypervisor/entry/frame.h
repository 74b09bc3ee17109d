/* SPDX-License-Identifier: BSD-2-Clause */
/* The registers that an exception interrupted, on the monitor's stack. */
#ifndef ENTRY_FRAME_H
#define ENTRY_FRAME_H

#include "entry/layout.h"
#include <stddef.h>
#include <stdint.h>

struct registers {
    uint64_t x[31];
    uint64_t pc;    /* ELR_EL2 */
    uint64_t state; /* SPSR_EL2 */
    uint64_t spare;
};

#define NO_REGISTER       31u
#define INSTRUCTION_BYTES 4u

static inline uint64_t register_value(const struct registers *registers, unsigned number)
{
    return number == NO_REGISTER ? 0 : registers->x[number];
}

_Static_assert(sizeof(struct registers) == FRAME_BYTES, "must match layout.h");
_Static_assert(offsetof(struct registers, pc) == FRAME_PC, "must match layout.h");

#endif
