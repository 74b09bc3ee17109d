/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Registers of a shared core that are switched only when another VCPU accesses them: those of FP
 * and SIMD, and the debug registers with the performance monitors. While the core has the values of
 * one VCPU, accesses of the others trap. Images without shared cores have absent.c instead.
 */
#ifndef WORLD_SWITCH_LAZY_REGISTERS_H
#define WORLD_SWITCH_LAZY_REGISTERS_H

#include "hypervisor/vcpu.h"
#include <stdbool.h>

struct shared_core;

/* Loads the VCPU's FP and SIMD registers, and permits accesses to them. Called when its guest has
 * accessed them, on the VCPU's processor. */
void lazy_registers_load_vectors(struct vcpu *vcpu);

/* Loads the VCPU's debug registers and performance monitors if the core has those of another VCPU,
 * and the access to register `name` (entry/syndrome.h) trapped for this reason. Returns false if it
 * trapped for another reason. On the VCPU's processor. */
bool lazy_registers_load_trapped(struct vcpu *vcpu, unsigned name);

/* Loads the VCPU's debug registers and performance monitors, and permits accesses to them. */
void lazy_registers_load_debug(struct shared_core *core, const struct vcpu *vcpu);

/* Saves the debug registers and performance monitors of the VCPU whose values the core has, if
 * there is one. The core has no VCPU's values then. */
void lazy_registers_save_debug(struct shared_core *core);

#endif
