/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The interrupt distributor of systems with shared cores: it routes SPIs to a VCPU that has room
 * for them (docs/decisions/0035). Images without shared cores have absent.c instead: an SPI has the
 * route that the guest writes.
 */
#ifndef DISTRIBUTOR_DISTRIBUTOR_H
#define DISTRIBUTOR_DISTRIBUTOR_H

#include "hypervisor/vcpu.h"
#include <stdint.h>

struct processor;

/* Returns the number of the VCPU to which the guest has routed an SPI of its partition. The
 * distributor may have routed the SPI to another VCPU. `number`: INTID. */
uint32_t distributor_home_vcpu(struct partition *partition, uint32_t number);

/* Enclose the change of an SPI's route by the guest. distributor_begin_route() records the route to
 * VCPU `vcpu`, and ends a move of the SPI. Then the caller writes the route of that VCPU's core to
 * the hardware, and calls distributor_end_route(). The partition's distribution is locked in
 * between. */
void distributor_begin_route(struct partition *partition, uint32_t number, uint32_t vcpu);
void distributor_end_route(struct partition *partition);

/* Makes an SPI follow its new route if it is active in the GIC and pending in a list register of
 * another VCPU. `vcpu`: the VCPU whose guest has changed the route. Called after
 * distributor_end_route(). */
void distributor_follow_route(struct vcpu *vcpu, uint32_t number);

/* Closes the parts and windows of the core's VCPUs that are over. The scheduler calls it when the
 * hypervisor executes anyway, after all execution until `now` was charged. */
void distributor_close_windows(const struct processor *processor, uint64_t now);

/* Routes the SPIs that the VCPU has taken to their homes. Called when its guest does not execute
 * any more. */
void distributor_return_all(struct vcpu *vcpu);

#endif
