/* SPDX-License-Identifier: BSD-2-Clause */
/* SPIs of functions that move between partitions (partition/ownership.h). Each partition of these
 * has one VCPU. */
#ifndef GIC_MOVED_H
#define GIC_MOVED_H

#include "hypervisor/step.h"
#include "hypervisor/vcpu.h"
#include <stdbool.h>
#include <stdint.h>

/* Resets an SPI that leaves the VCPU's partition: it is disabled, neither pending nor active, and
 * in no list register. Returns STEP_PENDING if the caller has to try again, STEP_FAILED if the GIC
 * does not settle, otherwise STEP_DONE. `interrupt`: INTID. On the VCPU's processor. */
enum step_outcome gic_release_interrupt(struct vcpu *vcpu, uint32_t interrupt);

/* Takes an SPI that is reset from the VCPU's partition: no interrupt that arrives with this number
 * is listed for the partition from now on. The caller has taken its bit from the partition's SPIs.
 * On the VCPU's processor. */
void gic_lose_interrupt(struct vcpu *vcpu, uint32_t interrupt);

/* Resets an SPI that no partition has, and that this one gets: as gic_reset_partition() leaves it,
 * routed to the boot VCPU. Returns false if the GIC does not settle. On the processor of the boot
 * VCPU. */
bool gic_take_interrupt(struct partition *partition, uint32_t interrupt);

#endif
