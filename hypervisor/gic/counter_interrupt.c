/* SPDX-License-Identifier: BSD-2-Clause */
#include "gic/counter_interrupt.h"

#include "bandwidth/bandwidth.h"
#include "gic/internal.h"
#include <arch/device_access.h>
#include <devices/gic_registers.h>

#define COUNTERS (UINT32_C(1) << GIC_OWN_COUNTERS)

const uint32_t *gic_guest_interrupts(const struct partition *partition)
{
    static const uint32_t all = PRIVATE_GUEST, without_counters = PRIVATE_GUEST & ~COUNTERS;

    return bandwidth_is_limited(partition) ? &without_counters : &all;
}

bool gic_take_counter_interrupt(const struct vcpu *vcpu)
{
    uintptr_t frame = gic_private(partition_core(vcpu->partition, vcpu->number)).interrupts;

    device_write32(frame + GIC_IGROUPR, device_read32(frame + GIC_IGROUPR) & ~COUNTERS);
    device_write8(frame + GIC_IPRIORITYR + GIC_OWN_COUNTERS, PRIORITY_OWN);
    device_write32(frame + GIC_ISENABLER, COUNTERS);
    return (device_read32(frame + GIC_ISENABLER) & COUNTERS) != 0;
}
