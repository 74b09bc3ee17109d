/* SPDX-License-Identifier: BSD-2-Clause */
/* Hypercall about the health of the caller's partition (arch/hypercalls.h). Images without health
 * monitoring have health/absent.c instead. */
#ifndef HYPERCALL_HEALTH_H
#define HYPERCALL_HEALTH_H

#include "hypervisor/vcpu.h"
#include <stdbool.h>
#include <stdint.h>

/* Returns true if SMCCC_ARCH_FEATURES announces the function to the VCPU's guest:
 * CALL_HEALTH_REPORT, if its partition is monitored. */
bool health_has_call(const struct vcpu *vcpu, uint32_t function);

/* Handles CALL_HEALTH_REPORT. `kind`: enum health_report, any number. `value`: the guest's. `pc`:
 * the guest's program counter. Returns CALL_SUCCESS, also if the guest does not continue, or
 * CALL_NOT_SUPPORTED if the partition is not monitored, or the kind is unknown. */
int64_t health_report(struct vcpu *vcpu, uint32_t kind, uint64_t value, uint64_t pc);

#endif
