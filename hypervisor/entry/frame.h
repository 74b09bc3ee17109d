/* SPDX-License-Identifier: BSD-2-Clause */
/* The general registers and the state of a guest or a monitor, which an exception to EL2 saves on
 * the monitor's stack. */
#ifndef ENTRY_FRAME_H
#define ENTRY_FRAME_H

#include <stdint.h>

struct registers {
    uint64_t x[31];
    uint64_t pc;    /* ELR_EL2 */
    uint64_t state; /* SPSR_EL2 */
    uint64_t taken; /* CNTPCT_EL0 when the exception was taken */
};

#define NO_REGISTER       31u /* number of XZR in an instruction or a syndrome */
#define INSTRUCTION_BYTES 4u

/* Returns the value of a general register. `number`: 0 to 30, or NO_REGISTER, which reads as 0. */
static inline uint64_t register_value(const struct registers *registers, unsigned number)
{
    return number == NO_REGISTER ? 0 : registers->x[number];
}

#endif
