/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The VCPU to which each SPI of a partition is routed (docs/decisions/0037). The hardware's route
 * names a core, on which several VCPUs of the partition may execute.
 *
 * A route is recorded here before it is written to GICD_IROUTER<n>. So an interrupt that arrives at
 * the core of its new route finds its VCPU. An interrupt that still arrives at the core of its last
 * route goes back to the GIC (scheduler_forward_interrupt(), scheduler/scheduler.h), which sends it
 * to the new core.
 */
#ifndef DISTRIBUTOR_ROUTE_H
#define DISTRIBUTOR_ROUTE_H

#include "hypervisor/vcpu.h"
#include <stdbool.h>
#include <stdint.h>

_Static_assert(DESCRIPTION_VCPUS_MAX == 16, "a VCPU's number has 4 bits");

/* Returns the number of the VCPU to which the partition's SPI is routed. Resident. */
static inline uint32_t route_vcpu(const struct partition *partition, uint32_t number)
{
    uint8_t pair = __atomic_load_n(&partition->distribution.routes[number / 2], __ATOMIC_RELAXED);

    return (uint32_t)pair >> number % 2 * 4 & 0xf;
}

/* Records the route of an SPI. The caller holds the lock of the partition's distribution. */
static inline void route_set(struct partition *partition, uint32_t number, uint32_t vcpu)
{
    uint8_t *pair = &partition->distribution.routes[number / 2];
    unsigned shift = number % 2 * 4;

    __atomic_store_n(pair, (uint8_t)((*pair & ~(0xfu << shift)) | vcpu << shift), __ATOMIC_RELAXED);
}

/* Returns true if an SPI is routed to the VCPU. `number`: INTID of an SPI of the VCPU's partition
 * that has arrived at the VCPU's core. Always true if the partition has no shared core, because
 * then the hardware's route names the VCPU. Resident. */
static inline bool route_is_to(const struct vcpu *vcpu, uint32_t number)
{
    return !vcpu->partition->constant.shares_cores ||
           route_vcpu(vcpu->partition, number) == vcpu->number;
}

#endif
