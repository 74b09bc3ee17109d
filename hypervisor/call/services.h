/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Services of the hypervisor itself, beside PSCI: stolen_time/calls.c. Images without shared cores
 * have stolen_time/absent.c, where no call is supported.
 */
#ifndef CALL_SERVICES_H
#define CALL_SERVICES_H

#include "hypervisor/vcpu.h"
#include <stdbool.h>
#include <stdint.h>

/* Returns true if SMCCC_ARCH_FEATURES announces the function. */
bool services_have(const struct vcpu *vcpu, uint32_t function);

/* Handles a call of the standard or the vendor-specific hypervisor services. `registers`: X0 to X3.
 * Returns the result for X0; the vendor-specific ones may write X1 to X3. */
int64_t services_call(const struct vcpu *vcpu, uint64_t registers[4]);

#endif
