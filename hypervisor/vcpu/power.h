/* SPDX-License-Identifier: BSD-2-Clause */
/* The power state of a VCPU, as its guest changes it by PSCI. */
#ifndef VCPU_POWER_H
#define VCPU_POWER_H

#include "hypercall/psci.h"
#include "hypervisor/vcpu.h"
#include <stdbool.h>

/* Carries out what a call of PSCI has decided. `target`: the VCPU to start. After ACTION_SUSPEND,
 * returns when an interrupt is pending. */
void power_change(struct vcpu *vcpu, enum psci_action action, uint32_t target);

/* Returns true if the guest may continue: the VCPU is on, and its partition need not stop. */
bool power_may_execute(const struct vcpu *vcpu);

/* Starts the guest on this VCPU, on its processor, at the entry in its struct vcpu_power. */
_Noreturn void power_start(struct vcpu *vcpu);

#endif
