/* SPDX-License-Identifier: BSD-2-Clause */
/* Hypercalls of a system's manager (arch/hypercalls.h). Images without a manager have
 * manager/absent.c instead. */
#ifndef HYPERCALL_MANAGER_H
#define HYPERCALL_MANAGER_H

#include "hypervisor/vcpu.h"
#include <stdint.h>

/* Handles CALL_PARTITION_STATUS to CALL_PARTITION_CRASH. `registers`: X0 to X3; X1 is written for
 * CALL_PARTITION_STATUS, _IMAGE and _LOG, X2 for _STATUS and _LOG, X3 for _LOG. Returns X0:
 * MANAGER_NOT_SUPPORTED unless the caller is the boot VCPU of the manager. */
int64_t manager_call(const struct vcpu *vcpu, uint64_t registers[4]);

#endif
