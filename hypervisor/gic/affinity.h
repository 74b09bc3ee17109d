/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * VCPUs by their affinity: MPIDR_EL1 with Aff3 in bits 39:32, Aff2 to Aff0 in bits 23:0. A guest
 * sees VCPU n with affinity n, and the hardware has that of its core.
 */
#ifndef HYPERVISOR_GIC_AFFINITY_H
#define HYPERVISOR_GIC_AFFINITY_H

#include "hypervisor/partition.h"

#define AFFINITY_NO_VCPU 0xffffffffu

/* Returns the partition's VCPU that its guest sees with this affinity, or AFFINITY_NO_VCPU. No VCPU
 * has an affinity with any other bit set. */
uint32_t affinity_vcpu(const struct partition *partition, uint64_t affinity);

/* Returns the partition's VCPU whose core has this affinity, or AFFINITY_NO_VCPU. */
uint32_t affinity_vcpu_on_core(const struct partition *partition, uint64_t affinity);

#endif
