/* SPDX-License-Identifier: BSD-2-Clause */
/* A guest with direct interrupts can shut its cores against the hypervisor's interrupts, one with
 * listed interrupts can't (docs/decisions/0039). direct/ has a header of the same name. */
#ifndef HYPERVISOR_SAFE_CORE_H
#define HYPERVISOR_SAFE_CORE_H

#include "hypervisor/description.h"
#include <stdbool.h>

static inline bool safe_core_is_of(const struct description_partition *partition)
{
    return partition->interrupt_mode == DESCRIPTION_INTERRUPT_MODE_LISTED;
}

/* Returns the first partition whose cores can't be shut, or DESCRIPTION_NO_PARTITION. */
static inline uint32_t safe_core_partition(const struct description *system)
{
    for (uint32_t i = 0; i < system->partition_count; i++) {
        if (safe_core_is_of(&system->partitions[i])) {
            return i;
        }
    }
    return DESCRIPTION_NO_PARTITION;
}

#endif
