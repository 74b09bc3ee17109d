/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Registers of a shared core that are switched only when another VCPU uses them: those of FP and
 * SIMD, and the debug registers with the performance monitors. While the core has those of another
 * VCPU, an access traps. Images without shared cores have absent.c.
 */
#ifndef WORLD_SWITCH_LAZY_REGISTERS_H
#define WORLD_SWITCH_LAZY_REGISTERS_H

#include "hypervisor/vcpu.h"
#include <stdbool.h>

struct shared_core;

/* Loads the VCPU's FP and SIMD registers, which its guest has accessed, and traps them no more.
 * Called on the VCPU's processor. */
void lazy_registers_load_vectors(struct vcpu *vcpu);

/* Loads the VCPU's debug registers if the core has those of another VCPU and the access to `name`
 * (entry/syndrome.h) trapped for this reason. Returns false if it trapped for another one. Called
 * on the VCPU's processor. */
bool lazy_registers_load_trapped(struct vcpu *vcpu, unsigned name);

/* Loads the VCPU's debug registers and performance monitors, and traps them no more. */
void lazy_registers_load_debug(struct shared_core *core, const struct vcpu *vcpu);

/* Saves the debug registers and performance monitors of the VCPU that the core has them of, if any.
 * The core has no VCPU's then. */
void lazy_registers_save_debug(struct shared_core *core);

#endif
