/* SPDX-License-Identifier: BSD-2-Clause */
/* For systems in which each VCPU has a core of its own: interrupts have the routes that the guest
 * writes, and are not counted. shared/ has a header of the same name with the same functions. */
#ifndef HYPERVISOR_DISTRIBUTING_H
#define HYPERVISOR_DISTRIBUTING_H

#include "gic/affinity.h"
#include "gic/gic_registers.h"
#include "hypervisor/vcpu.h"
#include <arch/device_access.h>
#include <stdint.h>

static inline void distributing_count(struct vcpu *vcpu, uint32_t number)
{
    (void)vcpu;
    (void)number;
}

static inline uint32_t distributing_home(struct partition *partition, uint32_t number)
{
    uint64_t registers = partition->system->board.distributor + GICD_IROUTER;

    return affinity_vcpu_on_core(partition,
                                 device_read64((uintptr_t)(registers + UINT64_C(8) * number)));
}

static inline void distributing_begin_route(struct partition *partition, uint32_t number,
                                            uint32_t vcpu)
{
    (void)partition;
    (void)number;
    (void)vcpu;
}

static inline void distributing_end_route(struct partition *partition)
{
    (void)partition;
}

static inline void distributing_follow(struct vcpu *vcpu, uint32_t number)
{
    (void)vcpu;
    (void)number;
}

#endif
