/* SPDX-License-Identifier: BSD-2-Clause */
/* Instructions that a guest makes at run time, and try.S, which runs one that may be undefined. */
#ifndef APPS_TESTS_ROGUE_INSTRUCTIONS_H
#define APPS_TESTS_ROGUE_INSTRUCTIONS_H

#include <stdint.h>

/* Instructions (Arm ARM, "System instruction class encoding overview"). */
#define NAME(op1, n, m, op2) ((op1) << 11 | (n) << 7 | (m) << 3 | (op2))
#define WRITE(op0, name)     (0xd5000000u | (uint32_t)(op0) << 19 | (uint32_t)(name) << 5) /* MSR */
#define READ(op0, name)      (WRITE(op0, name) | 1u << 21)                                 /* MRS */
#define RET                  0xd65f03c0u

#define EXCEPTION_CLASS(syndrome) ((unsigned)((syndrome) >> 26))

/* try.S */
extern const char try_vectors[];
/* The last exception that try_vectors took: offset of the vector, SPSR_EL1. */
extern uint64_t try_vector, try_state;
/* Runs the instructions with `value` in x0, and returns what they leave in x0. An instruction that
 * raises an exception is skipped: *syndrome is its ESR_EL1, or 0 if there was none. VBAR_EL1 is
 * try_vectors, and interrupts are masked. */
uint64_t try_code(const uint32_t *code, uint64_t value, uint64_t *syndrome);

#endif
