/* SPDX-License-Identifier: BSD-2-Clause */
/* The calls of a system's manager (arch/hypercalls.h). manager/absent.c has them for images
 * without one. */
#ifndef HYPERCALL_MANAGER_H
#define HYPERCALL_MANAGER_H

#include "hypervisor/vcpu.h"
#include <stdint.h>

/* Handles CALL_PARTITION_STATUS to CALL_PARTITION_DESTROY. `registers`: X0 to X3. Returns X0, which
 * is MANAGER_NOT_SUPPORTED unless the caller is the boot VCPU of the manager. */
int64_t manager_call(const struct vcpu *vcpu, uint64_t registers[4]);

#endif
