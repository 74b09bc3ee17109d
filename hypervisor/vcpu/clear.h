/* SPDX-License-Identifier: BSD-2-Clause */
#ifndef VCPU_CLEAR_H
#define VCPU_CLEAR_H

#include <stdint.h>

/* Clears v0 to v31, FPCR and FPSR. CPTR_EL2.TFP must be 0. */
void clear_vectors(void);

/* Clear DBGBVR<n>_EL1 and DBGBCR<n>_EL1, or DBGWVR<n>_EL1 and DBGWCR<n>_EL1, for n from 0 to count
 * - 1. `count`: the number that the processor has, 1 to 16. */
void clear_breakpoints(uint64_t count);
void clear_watchpoints(uint64_t count);

#endif
