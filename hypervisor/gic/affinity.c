/* SPDX-License-Identifier: BSD-2-Clause */
#include "gic/affinity.h"

uint32_t affinity_vcpu(const struct partition *partition, uint64_t affinity)
{
    return affinity < partition->constant.described->vcpu_count ? (uint32_t)affinity
                                                                : AFFINITY_NO_VCPU;
}

uint32_t affinity_vcpu_on_core(const struct partition *partition, uint64_t affinity)
{
    for (uint32_t vcpu = 0; vcpu < partition->constant.described->vcpu_count; vcpu++) {
        if (partition_core(partition, vcpu)->affinity == affinity) {
            return vcpu;
        }
    }
    return AFFINITY_NO_VCPU;
}
