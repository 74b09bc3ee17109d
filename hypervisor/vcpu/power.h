/* SPDX-License-Identifier: BSD-2-Clause */
/* The power state of a VCPU, which its guest changes by PSCI. */
#ifndef VCPU_POWER_H
#define VCPU_POWER_H

#include "hypercall/psci.h"
#include "hypervisor/vcpu.h"
#include <stdbool.h>

/* Carries out the action that a PSCI call has requested. `vcpu`: the calling VCPU. `target`: for
 * ACTION_CORE_START, the number of the VCPU to start. After ACTION_SUSPEND, returns when an
 * interrupt is pending. On the VCPU's processor. */
void power_change(struct vcpu *vcpu, enum psci_action action, uint32_t target);

/* Returns true if the guest may continue: the VCPU is on, and no stop of its partition is
 * requested. */
bool power_may_execute(const struct vcpu *vcpu);

/* Starts the guest on this VCPU, at the entry in its struct vcpu_power. On the VCPU's processor. */
_Noreturn void power_start(struct vcpu *vcpu);

#endif
