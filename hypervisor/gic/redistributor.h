/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The virtual Redistributors of a partition: one for each of its VCPUs, awake, without LPIs and
 * without the hypervisor's private interrupts. The frames of its VCPU n are at the address of the
 * machine's core n, as on a machine that has only the partition's VCPUs.
 */
#ifndef HYPERVISOR_GIC_REDISTRIBUTOR_H
#define HYPERVISOR_GIC_REDISTRIBUTOR_H

#include "hypervisor/access.h"
#include "hypervisor/vcpu.h"

/* Size of the RD frame and the SGI frame. */
#define REDISTRIBUTOR_BYTES UINT64_C(0x20000)

/* Returns the guest address of the frames of a partition's VCPU: the address of the machine's core
 * of this number. If the partition has more VCPUs than the machine has cores, the frames of the
 * others follow those of the last core. */
static inline uint64_t redistributor_guest_address(const struct description *system, uint32_t vcpu)
{
    uint32_t last = system->core_count - 1, known = vcpu < last ? vcpu : last;

    return system->cores[known].redistributor + (vcpu - known) * REDISTRIBUTOR_BYTES;
}

/* Handles an access of a VCPU's guest to guest address `address`, and sets access->offset to the
 * offset in the frame. Returns ACCESS_FORBIDDEN if no frame is at the address. Any VCPU of the
 * partition, several at the same time. */
enum access_result redistributor_access(struct vcpu *accessing, uint64_t address,
                                        struct access *access);

/* Handles an access to the SGI frame of a VCPU whose state is loaded on this core. access->offset:
 * in the frame. */
enum access_result redistributor_access_own(struct vcpu *vcpu, struct access *access);

#endif
