/* SPDX-License-Identifier: BSD-2-Clause */
/* Calls of a guest by HVC or SMC, by owner: SMCCC 1.1 (DEN0028), PSCI, services of the hypervisor.
 * Everything else is NOT_SUPPORTED. */
#ifndef CALL_CALL_H
#define CALL_CALL_H

#include "hypervisor/vcpu.h"
#include "psci/psci.h"
#include <stdint.h>

/* Handles a call of the VCPU's guest. `registers`: X0 to X3; if the guest continues, X0 has the
 * result. `target` is written with PSCI_CORE_START only. */
enum psci_action call_handle(const struct vcpu *vcpu, uint64_t registers[4], uint32_t *target);

#endif
