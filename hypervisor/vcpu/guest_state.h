/* SPDX-License-Identifier: BSD-2-Clause */
/* A guest's EL1 registers, and the EL2 registers that control the guest, of the calling core. */
#ifndef VCPU_GUEST_STATE_H
#define VCPU_GUEST_STATE_H

#include "entry/frame.h"
#include "hypervisor/vcpu.h"
#include <stdbool.h>
#include <stdint.h>

/* Sets the EL2 registers that control the guest of a VCPU: stage 2, traps, timers, the affinity
 * that it sees. Called once on each core, before its guest. */
void guest_state_init(const struct vcpu *vcpu);

/* Traps the guest's broadcast TLB and instruction cache maintenance. After guest_state_init().
 * Returns false if the processor has no such traps (FEAT_EVT). */
bool guest_state_trap_broadcasts(void);

/* Clears every register in which a guest may have left data, except the general registers and those
 * of the interrupt controller. Called each time before a guest starts on this core. */
void guest_state_reset(void);

/* Makes the guest take a synchronous exception at EL1 at its program counter. `syndrome`: for
 * ESR_EL1. The caller sets FAR_EL1. */
void guest_state_exception(struct registers *registers, uint64_t syndrome);

/* Makes the guest take an UNDEFINED exception at EL1 for the instruction at its program counter. */
void guest_state_undefined(struct registers *registers);

#endif
