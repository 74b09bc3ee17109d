/* SPDX-License-Identifier: BSD-2-Clause */
/* Interrupts that enter EL2. */
#ifndef ENTRY_INTERRUPT_H
#define ENTRY_INTERRUPT_H

#include "hypervisor/vcpu.h"

/* Handles the pending interrupt of the hypervisor on this processor, if there is one. `vcpu`: the
 * one that executes on it, or would. */
void interrupt_handle(struct vcpu *vcpu);

/* Handles the interrupt that listed_take() acknowledged and could not list: the guest's, or the
 * hypervisor's where both are in Group 1. */
void interrupt_list(struct vcpu *vcpu);

#endif
