/* SPDX-License-Identifier: BSD-2-Clause */
/* For systems with direct interrupts only: the guest of each core can shut it against the
 * hypervisor's interrupts (docs/decisions/0039). listed/ has a header of the same name. */
#ifndef HYPERVISOR_SAFE_CORE_H
#define HYPERVISOR_SAFE_CORE_H

#include "hypervisor/description.h"
#include <stdbool.h>

static inline bool safe_core_is_of(const struct description_partition *partition)
{
    (void)partition;
    return false;
}

static inline uint32_t safe_core_partition(const struct description *system)
{
    (void)system;
    return DESCRIPTION_NO_PARTITION;
}

#endif
