/* SPDX-License-Identifier: BSD-2-Clause */
/* For systems in which each VCPU has a core of its own: it has no neighbours, and a partition has
 * at most as many VCPUs as the machine has cores. shared/ has a header of the same name. */
#ifndef HYPERVISOR_NEIGHBOURS_H
#define HYPERVISOR_NEIGHBOURS_H

#include "hypervisor/vcpu.h"
#include <stdbool.h>
#include <stdint.h>

struct shared_core;

static inline bool neighbours_are_supported(void)
{
    return false;
}

static inline bool neighbours_share_processor(const struct shared_core *shared)
{
    (void)shared;
    return false;
}

static inline bool neighbours_share_core_of(const struct vcpu *vcpu)
{
    (void)vcpu;
    return false;
}

static inline bool neighbours_share_cores_of(const struct partition *partition)
{
    (void)partition;
    return false;
}

static inline void neighbours_note_change(struct vcpu *vcpu)
{
    (void)vcpu;
}

static inline uint32_t neighbours_of(const struct vcpu *vcpu)
{
    (void)vcpu;
    return 0;
}

static inline uint64_t neighbours_frames(const struct description *system, uint32_t vcpu)
{
    return system->cores[vcpu].redistributor;
}

#endif
