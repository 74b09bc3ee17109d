/* SPDX-License-Identifier: BSD-2-Clause */
/* Interrupts of the hypervisor: Group 0. */
#ifndef ENTRY_INTERRUPT_H
#define ENTRY_INTERRUPT_H

#include "hypervisor/vcpu.h"

/* Handles the pending interrupt of the hypervisor on this processor, if there is one. `vcpu`: the
 * one that executes on it, or would. */
void interrupt_handle(struct vcpu *vcpu);

#endif
