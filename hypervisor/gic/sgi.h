/* SPDX-License-Identifier: BSD-2-Clause */
/* Software-generated interrupts: those of guests, and messages between monitors. */
#ifndef HYPERVISOR_GIC_SGI_H
#define HYPERVISOR_GIC_SGI_H

#include "hypervisor/access.h"
#include "hypervisor/partition.h"

/* Carries out a guest's write to ICC_SGI1R_EL1 on `core` (the description's index): the interrupt
 * is sent to the targets that are cores of its partition. Returns ACCESS_REFUSED if it named other
 * cores, or the number of the hypervisor's SGI. ICC_SGI0R_EL1 and ICC_ASGI1R_EL1 concern Group 0
 * and another security state, and are refused elsewhere. */
enum access_result sgi_send(const struct partition *partition, uint32_t core, uint64_t value);

/* Sends GIC_OWN_SGI to a core, for its monitor, which then sees all memory written before. */
void gic_send(const struct description_core *core);

#endif
