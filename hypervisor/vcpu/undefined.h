/* SPDX-License-Identifier: BSD-2-Clause */
/* An UNDEFINED exception for the guest: the state in which EL1 takes it (Arm ARM, pseudocode
 * AArch64.TakeException, AArch64.Undefined). */
#ifndef VCPU_UNDEFINED_H
#define VCPU_UNDEFINED_H

#include <stdbool.h>
#include <stdint.h>

/* ESR_EL1: EC 0, "Unknown reason"; IL is 1 for this class. */
#define UNDEFINED_SYNDROME (UINT64_C(1) << 25)

/* Inputs to exception_state() besides PSTATE. */
struct exception_context {
    uint64_t control;         /* SCTLR_EL1 */
    bool has_pan;             /* FEAT_PAN */
    bool has_ssbs;            /* FEAT_SSBS */
    bool has_allocation_tags; /* FEAT_MTE2 */
};

/* Returns the offset from VBAR_EL1 of the vector for a synchronous exception. `state`: the SPSR of
 * the interrupted guest, at EL0 (either execution state) or EL1. */
uint64_t exception_offset(uint64_t state);

/* Returns PSTATE, in the layout of an SPSR, with which EL1 takes a synchronous exception. */
uint64_t exception_state(uint64_t state, const struct exception_context *context);

#endif
