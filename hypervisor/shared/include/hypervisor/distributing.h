/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The interrupt distributor of systems with shared cores: where gic/ calls it. dedicated/ has a
 * header of the same name for other systems, whose functions have no effect; the image's include
 * path decides. So those systems have not even the calls.
 */
#ifndef HYPERVISOR_DISTRIBUTING_H
#define HYPERVISOR_DISTRIBUTING_H

#include "hypervisor/vcpu.h"
#include <stdint.h>

/* Counts an interrupt that has come for the VCPU. Resident. */
static inline void distributing_count(struct vcpu *vcpu, uint32_t number)
{
    profile_count(&vcpu->profile, number);
}

/* Returns the VCPU to which the guest has routed an SPI of its partition. It may be distributed to
 * another one. */
uint32_t distributing_home(struct partition *partition, uint32_t number);

/* The guest routes an SPI to `vcpu`: that ends a move. The caller writes the core's route between
 * the two calls. */
void distributing_begin_route(struct partition *partition, uint32_t number, uint32_t vcpu);
void distributing_end_route(struct partition *partition);

/* After the guest of `vcpu` has routed an SPI: if it is pending in a list register of another VCPU,
 * it follows the route. */
void distributing_follow(struct vcpu *vcpu, uint32_t number);

#endif
