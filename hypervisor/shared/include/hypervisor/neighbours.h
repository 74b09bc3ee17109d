/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * VCPUs of one partition that execute on the same core, in turn. dedicated/ has a header of the
 * same name with the same functions for systems without such cores; the image's include path
 * decides.
 */
#ifndef HYPERVISOR_NEIGHBOURS_H
#define HYPERVISOR_NEIGHBOURS_H

#include "hypervisor/vcpu.h"
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct shared_core;

#define NEIGHBOURS_FRAME_BYTES UINT64_C(0x20000) /* RD and SGI frame of a VCPU */

/* Returns true if the image has the code for VCPUs that share a core. */
static inline bool neighbours_are_supported(void)
{
    return true;
}

/* Returns true if several VCPUs execute on a processor. `shared`: its field of that name. */
static inline bool neighbours_share_processor(const struct shared_core *shared)
{
    return shared != NULL;
}

/* Returns true if other VCPUs, of any partition, execute on the VCPU's core. */
static inline bool neighbours_share_core_of(const struct vcpu *vcpu)
{
    return vcpu->shared != NULL;
}

/* Returns true if the partition has a VCPU on a shared core. */
static inline bool neighbours_share_cores_of(const struct partition *partition)
{
    return partition->shares_cores;
}

/* Notes that priorities or triggers of the VCPU's SGIs and PPIs may be others now. */
static inline void neighbours_note_change(struct vcpu *vcpu)
{
    vcpu->list.has_changed = true;
}

/* Returns the VCPUs of the partition that execute on the VCPU's core, itself included: bit n is
 * VCPU n. */
static inline uint32_t neighbours_of(const struct vcpu *vcpu)
{
    const struct description_partition *described = vcpu->partition->described;
    uint32_t found = 0, bit = 1;

    for (uint32_t other = 0; other < described->vcpu_count; other++, bit <<= 1) {
        found |= described->vcpus[other].core == vcpu->processor ? bit : 0;
    }
    return found;
}

/* Returns the guest address of the frames of a partition's VCPU: that of the machine's core of this
 * number. If the partition has more VCPUs than the machine has cores, the others follow. */
static inline uint64_t neighbours_frames(const struct description *system, uint32_t vcpu)
{
    uint32_t last = system->core_count - 1, known = vcpu < last ? vcpu : last;

    return system->cores[known].redistributor + (vcpu - known) * NEIGHBOURS_FRAME_BYTES;
}

#endif
