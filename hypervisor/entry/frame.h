/* SPDX-License-Identifier: BSD-2-Clause */
/* The registers that an exception interrupted, on the monitor's stack. */
#ifndef ENTRY_FRAME_H
#define ENTRY_FRAME_H

#include <stdint.h>

struct registers {
    uint64_t x[31];
    uint64_t pc;    /* ELR_EL2 */
    uint64_t state; /* SPSR_EL2 */
    uint64_t spare; /* keeps the stack aligned to 16 */
};

#define NO_REGISTER       31u
#define INSTRUCTION_BYTES 4u

static inline uint64_t register_value(const struct registers *registers, unsigned number)
{
    return number == NO_REGISTER ? 0 : registers->x[number];
}

#endif
