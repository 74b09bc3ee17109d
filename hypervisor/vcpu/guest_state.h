/* SPDX-License-Identifier: BSD-2-Clause */
/* The EL1 registers of a guest, and the EL2 registers that control the guest, on the calling
 * core. */
#ifndef VCPU_GUEST_STATE_H
#define VCPU_GUEST_STATE_H

#include "entry/frame.h"
#include "hypervisor/vcpu.h"
#include <stdbool.h>
#include <stdint.h>

/* Sets the EL2 registers that control the guest of a VCPU: stage 2, traps, timers, and the affinity
 * that the guest reads. Called once on each core, before its guest executes. */
void guest_state_init(const struct vcpu *vcpu);

/* Makes the guest's broadcast TLB and instruction cache maintenance trap. Returns false if the
 * processor has no such traps (FEAT_EVT). Called after guest_state_init(). */
bool guest_state_trap_broadcasts(void);

/* Clears every register in which an earlier guest may have left data, except the general registers
 * and those of the interrupt controller. Called each time before a guest starts on this core. */
void guest_state_reset(void);

/* Makes the guest take a synchronous exception at EL1 for the instruction at its program counter.
 * `syndrome`: value of ESR_EL1. The caller sets FAR_EL1. */
void guest_state_exception(struct registers *registers, uint64_t syndrome);

/* Makes the guest take an UNDEFINED exception at EL1 for the instruction at its program counter. */
void guest_state_undefined(struct registers *registers);

#endif
