/* SPDX-License-Identifier: BSD-2-Clause */
/* VCPUs that share a core with others. scheduler/ chooses which of them executes. */
#ifndef VCPU_SAME_CORE_H
#define VCPU_SAME_CORE_H

#include "hypervisor/vcpu.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns true if the VCPU's core is shared with other VCPUs, of any partition. */
static inline bool vcpu_shares_core(const struct vcpu *vcpu)
{
    return vcpu->shared != NULL;
}

/* Returns true if the partition has a VCPU on a shared core. */
static inline bool partition_shares_cores(const struct partition *partition)
{
    return partition->constant.shares_cores;
}

/* Returns the VCPUs of the partition that execute on the VCPU's core: bit n for VCPU n. The VCPU
 * itself is one of them. Returns 0 if the VCPU has a core of its own. */
uint32_t vcpus_on_same_core(const struct vcpu *vcpu);

#endif
