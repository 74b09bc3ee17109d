/* SPDX-License-Identifier: BSD-2-Clause */
/* The state in which EL1 takes a synchronous exception that the hypervisor makes the guest take,
 * such as an UNDEFINED exception (Arm ARM, pseudocode AArch64.TakeException, AArch64.Undefined). */
#ifndef VCPU_UNDEFINED_H
#define VCPU_UNDEFINED_H

#include <stdbool.h>
#include <stdint.h>

/* Value of ESR_EL1 for an UNDEFINED exception: EC 0, "Unknown reason"; IL is 1 for this class. */
#define UNDEFINED_SYNDROME (UINT64_C(1) << 25)

/* Inputs of exception_state() besides PSTATE. */
struct exception_context {
    uint64_t control;         /* SCTLR_EL1 */
    bool has_pan;             /* the processor has FEAT_PAN */
    bool has_ssbs;            /* the processor has FEAT_SSBS */
    bool has_allocation_tags; /* the processor has FEAT_MTE2 */
};

/* Returns the offset from VBAR_EL1 of the vector for a synchronous exception. `state`: SPSR_EL2
 * with the state of the interrupted guest, at EL1, or at EL0 in either execution state. */
uint64_t exception_offset(uint64_t state);

/* Returns the PSTATE with which EL1 takes a synchronous exception, in the format of an SPSR.
 * `state`: as above. */
uint64_t exception_state(uint64_t state, const struct exception_context *context);

#endif
