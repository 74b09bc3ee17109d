/* SPDX-License-Identifier: BSD-2-Clause */
/* Replaces distributor.c in images in which each VCPU has a core of its own. The route of an SPI is
 * then the one in the hardware. */
#include "distributor/distributor.h"

#include "gic/affinity.h"
#include <arch/device_access.h>
#include <devices/gic_registers.h>

uint32_t distributor_home_vcpu(struct partition *partition, uint32_t number)
{
    uint64_t registers = partition->constant.system->board.distributor + GICD_IROUTER;

    return affinity_vcpu_on_core(partition,
                                 device_read64((uintptr_t)(registers + UINT64_C(8) * number)));
}

void distributor_begin_route(struct partition *partition, uint32_t number, uint32_t vcpu)
{
    (void)partition;
    (void)number;
    (void)vcpu;
}

void distributor_end_route(struct partition *partition)
{
    (void)partition;
}

void distributor_follow_route(struct vcpu *vcpu, uint32_t number)
{
    (void)vcpu;
    (void)number;
}
