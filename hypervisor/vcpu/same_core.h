/* SPDX-License-Identifier: BSD-2-Clause */
/* VCPUs that share a core with others. scheduler/ lets them execute in turn. */
#ifndef VCPU_SAME_CORE_H
#define VCPU_SAME_CORE_H

#include "hypervisor/vcpu.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Returns true if other VCPUs, of any partition, execute on the VCPU's core. */
static inline bool vcpu_shares_core(const struct vcpu *vcpu)
{
    return vcpu->shared != NULL;
}

/* Returns true if the partition has a VCPU on a shared core. */
static inline bool partition_shares_cores(const struct partition *partition)
{
    return partition->shares_cores;
}

/* Returns the VCPUs of the partition that execute on the VCPU's core: bit n is VCPU n. The VCPU
 * itself is one of them if it shares its core; otherwise the result is 0. */
uint32_t vcpus_on_same_core(const struct vcpu *vcpu);

#endif
