/* SPDX-License-Identifier: BSD-2-Clause */
/* Software-generated interrupts: the guest's, and the messages between monitors. */
#ifndef HYPERVISOR_GIC_SGI_H
#define HYPERVISOR_GIC_SGI_H

#include "hypervisor/access.h"
#include "hypervisor/partition.h"

/* What a guest on `core` (the description's index) writes to ICC_SGI1R_EL1: sent to those targets
 * that are cores of its partition. ACCESS_REFUSED: it named others too, or the hypervisor's number.
 * ICC_SGI0R_EL1 and ICC_ASGI1R_EL1 are for Group 0 and another security state: nothing for it. */
enum access_result sgi_send(const struct partition *partition, uint32_t core, uint64_t value);

/* Has the monitor of a core take GIC_OWN_SGI. What was written to memory before is seen there. */
void gic_send(const struct description_core *core);

#endif
