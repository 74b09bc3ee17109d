/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The VCPU to which each SPI of a partition is routed. The hardware's route is that of a core, on
 * which several VCPUs of the partition may execute. dedicated/ has a header of the same name for
 * systems without such cores; the image's include path decides.
 *
 * A route is written here before it is written to GICD_IROUTER<n>. So an interrupt that comes to
 * the core of its new route finds the VCPU. One that still comes to the core of its last route goes
 * back to the GIC (sharing_take(), hypervisor/sharing.h), which sends it to the new one.
 */
#ifndef HYPERVISOR_ROUTES_H
#define HYPERVISOR_ROUTES_H

#include "hypervisor/vcpu.h"
#include <stdbool.h>
#include <stdint.h>

_Static_assert(DESCRIPTION_VCPUS_MAX == 16, "a VCPU's number has 4 bits");

/* Returns the VCPU to which the partition's SPI is routed. Resident. */
static inline uint32_t routes_vcpu(const struct partition *partition, uint32_t number)
{
    uint8_t pair = __atomic_load_n(&partition->routes[number / 2], __ATOMIC_RELAXED);

    return (uint32_t)pair >> number % 2 * 4 & 0xf;
}

/* Routes the SPI. The caller has the lock of the partition's distribution. */
static inline void routes_set(struct partition *partition, uint32_t number, uint32_t vcpu)
{
    uint8_t *pair = &partition->routes[number / 2];
    unsigned shift = number % 2 * 4;

    __atomic_store_n(pair, (uint8_t)((*pair & ~(0xfu << shift)) | vcpu << shift), __ATOMIC_RELAXED);
}

/* Returns true if the SPI, which is one of the VCPU's partition, is routed to the VCPU. */
static inline bool routes_are_to(const struct vcpu *vcpu, uint32_t number)
{
    return routes_vcpu(vcpu->partition, number) == vcpu->number;
}

#endif
