/* SPDX-License-Identifier: BSD-2-Clause */
/* For systems in which each VCPU has a core of its own: an SPI comes only to the core of its VCPU.
 * shared/ has a header of the same name. */
#ifndef HYPERVISOR_ROUTES_H
#define HYPERVISOR_ROUTES_H

#include "hypervisor/vcpu.h"
#include <stdbool.h>
#include <stdint.h>

static inline bool routes_are_to(const struct vcpu *vcpu, uint32_t number)
{
    (void)vcpu;
    (void)number;
    return true;
}

#endif
