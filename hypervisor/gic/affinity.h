/* SPDX-License-Identifier: BSD-2-Clause */
/* Cores as the architecture names them: MPIDR_EL1 with Aff3 in bits 39:32, Aff2 to Aff0 in 23:0. */
#ifndef HYPERVISOR_GIC_AFFINITY_H
#define HYPERVISOR_GIC_AFFINITY_H

#include "hypervisor/partition.h"

#define AFFINITY_NO_CORE 0xffffffffu

/* The partition's core of this affinity (the description's index), or AFFINITY_NO_CORE. Any bit
 * beside the affinity's makes it nobody's. */
uint32_t affinity_core(const struct partition *partition, uint64_t affinity);

#endif
