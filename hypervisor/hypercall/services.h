/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Hypercalls about the VCPU's times and about the hypervisor itself (stolen_time/calls.c). Images
 * without shared cores have stolen_time/absent.c instead, which supports none of them.
 */
#ifndef HYPERCALL_SERVICES_H
#define HYPERCALL_SERVICES_H

#include "hypervisor/vcpu.h"
#include <stdbool.h>
#include <stdint.h>

/* Returns true if SMCCC_ARCH_FEATURES announces the function to the VCPU's guest. */
bool services_have(const struct vcpu *vcpu, uint32_t function);

/* Handles CALL_PV_TIME_FEATURES, CALL_PV_TIME_ST, CALL_HYPERVISOR_TIMES, CALL_HYPERVISOR_UID and
 * CALL_HYPERVISOR_REVISION. `registers`: X0 to X3; the last two calls write X1 to X3, too. Returns
 * X0. */
int64_t services_call(const struct vcpu *vcpu, uint64_t registers[4]);

#endif
