/* SPDX-License-Identifier: BSD-2-Clause */
#include "gic/affinity.h"

uint32_t affinity_core(const struct partition *partition, uint64_t affinity)
{
    const struct description *system = partition->system;

    for (uint32_t core = 0; core < system->core_count; core++) {
        if (system->cores[core].partition == partition->index &&
            system->cores[core].affinity == affinity) {
            return core;
        }
    }
    return AFFINITY_NO_CORE;
}
