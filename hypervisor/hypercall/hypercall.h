/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls of a guest by HVC or SMC (arch/hypercalls.h). */
#ifndef HYPERCALL_HYPERCALL_H
#define HYPERCALL_HYPERCALL_H

#include "entry/frame.h"
#include "hypervisor/vcpu.h"

/* Handles a call of the VCPU's guest, and counts the exit: EXIT_POWER for PSCI, EXIT_HYPERCALL for
 * all others. The program counter is past the instruction. If the guest continues, X0 is the
 * result. */
void hypercall_handle(struct vcpu *vcpu, struct registers *registers);

#endif
