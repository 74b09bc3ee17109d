/* SPDX-License-Identifier: BSD-2-Clause */
#include "hypervisor/description.h"

uint32_t description_first_listed(const struct description *system)
{
    for (uint32_t i = 0; i < system->partition_count; i++) {
        if (description_has_listed_interrupts(&system->partitions[i])) {
            return i;
        }
    }
    return DESCRIPTION_NO_PARTITION;
}
