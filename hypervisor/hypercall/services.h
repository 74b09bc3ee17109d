/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Calls about the VCPU's times and about the hypervisor itself: stolen_time/calls.c. Images without
 * shared cores have stolen_time/absent.c, where no call is supported.
 */
#ifndef HYPERCALL_SERVICES_H
#define HYPERCALL_SERVICES_H

#include "hypervisor/vcpu.h"
#include <stdbool.h>
#include <stdint.h>

/* Returns true if SMCCC_ARCH_FEATURES announces the function. */
bool services_have(const struct vcpu *vcpu, uint32_t function);

/* Handles CALL_PV_TIME_FEATURES, CALL_PV_TIME_ST and CALL_HYPERVISOR_TIMES, UID or REVISION.
 * `registers`: X0 to X3. Returns the result for X0. UID and REVISION also write X1 to X3. */
int64_t services_call(const struct vcpu *vcpu, uint64_t registers[4]);

#endif
