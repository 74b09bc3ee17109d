/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The interrupt distributor of systems with shared cores: it routes SPIs to a VCPU that has room
 * for them (docs/decisions/0035). Images without shared cores have absent.c: interrupts have the
 * routes that the guest writes.
 */
#ifndef DISTRIBUTOR_DISTRIBUTOR_H
#define DISTRIBUTOR_DISTRIBUTOR_H

#include "hypervisor/vcpu.h"
#include <stdint.h>

struct processor;

/* Returns the VCPU to which the guest has routed an SPI of its partition. It may be distributed to
 * another one. */
uint32_t distributor_home_vcpu(struct partition *partition, uint32_t number);

/* The guest routes an SPI to `vcpu`: that ends a move. The caller writes the core's route between
 * the two calls. */
void distributor_begin_route(struct partition *partition, uint32_t number, uint32_t vcpu);
void distributor_end_route(struct partition *partition);

/* After the guest of `vcpu` has routed an SPI: if it is pending in a list register of another VCPU,
 * it follows the route. */
void distributor_follow_route(struct vcpu *vcpu, uint32_t number);

/* Closes the parts and the windows of the shared core's VCPUs that are over. The scheduler calls it
 * when the hypervisor executes anyway, and all execution until `now` has been charged. Returns
 * `now`. */
uint64_t distributor_close_windows(const struct processor *processor, uint64_t now);

/* Routes the SPIs that the VCPU has taken to their homes: its guest does not execute any more. */
void distributor_return_all(struct vcpu *vcpu);

#endif
