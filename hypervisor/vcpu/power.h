/* SPDX-License-Identifier: BSD-2-Clause */
/* The power state of a VCPU, as its guest changes it by PSCI. */
#ifndef VCPU_POWER_H
#define VCPU_POWER_H

#include "entry/frame.h"
#include "hypervisor/vcpu.h"
#include <stdbool.h>

/* Handles a call by HVC or SMC. The program counter is past the instruction. */
void power_call(struct vcpu *vcpu, struct registers *registers);

/* Returns true if the guest may continue: the VCPU is on, and its partition need not stop. */
bool power_may_execute(const struct vcpu *vcpu);

/* Starts the guest on this VCPU, on its processor, at the entry in its struct vcpu_power. */
_Noreturn void power_start(struct vcpu *vcpu);

#endif
