/* SPDX-License-Identifier: BSD-2-Clause */
/* Hypercalls: calls of a guest by HVC or SMC (arch/hypercalls.h). */
#ifndef HYPERCALL_HYPERCALL_H
#define HYPERCALL_HYPERCALL_H

#include "entry/frame.h"
#include "hypervisor/vcpu.h"

/* Handles a call of the VCPU's guest, and counts the exit: EXIT_POWER for PSCI, EXIT_HYPERCALL for
 * all others. `registers`: the guest's; the program counter is past the instruction. Sets X0 to the
 * result, unless the guest does not continue. May let another VCPU execute before it returns. */
void hypercall_handle(struct vcpu *vcpu, struct registers *registers);

#endif
