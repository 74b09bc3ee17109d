/* SPDX-License-Identifier: BSD-2-Clause */
/* Cores by their affinity: MPIDR_EL1 with Aff3 in bits 39:32 and Aff2 to Aff0 in bits 23:0. */
#ifndef HYPERVISOR_GIC_AFFINITY_H
#define HYPERVISOR_GIC_AFFINITY_H

#include "hypervisor/partition.h"

#define AFFINITY_NO_CORE 0xffffffffu

/* Returns the partition's core with this affinity (the description's index), or AFFINITY_NO_CORE.
 * No core has an affinity with any other bit set. */
uint32_t affinity_core(const struct partition *partition, uint64_t affinity);

#endif
