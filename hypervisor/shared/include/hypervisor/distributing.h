/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The interrupt distributor of systems with shared cores: where gic/ calls it. dedicated/ has a
 * header of the same name for other systems, whose functions have no effect; the image's include
 * path decides. So those systems have not even the calls.
 */
#ifndef HYPERVISOR_DISTRIBUTING_H
#define HYPERVISOR_DISTRIBUTING_H

#include "hypervisor/vcpu.h"
#include <stdbool.h>
#include <stdint.h>

/* Counts an interrupt that has come for the VCPU. Resident. */
static inline void distributing_count(struct vcpu *vcpu, uint32_t number)
{
    profile_count(&vcpu->profile, number);
}

/* Returns the partition's SPI with this number, or NULL if it is never distributed. */
struct distribution_source *distributing_find(struct partition *partition, uint32_t number);

/* The guest routes an SPI, which may be NULL, to `vcpu`: that ends a move. The caller writes the
 * route between the two calls. */
void distributing_begin_route(struct partition *partition, struct distribution_source *source,
                              uint32_t vcpu);
void distributing_end_route(struct partition *partition);

/* Returns true if an SPI in a list register of the VCPU is routed to another one now. */
bool distributing_is_elsewhere(const struct vcpu *vcpu, uint32_t number);

#endif
