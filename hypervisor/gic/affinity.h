/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * VCPUs by affinity. An affinity has the layout of MPIDR_EL1: Aff3 in bits 39:32, Aff2 to Aff0 in
 * bits 23:0. The guest sees VCPU n with affinity n. The hardware has the affinity of the VCPU's
 * core.
 */
#ifndef HYPERVISOR_GIC_AFFINITY_H
#define HYPERVISOR_GIC_AFFINITY_H

#include "hypervisor/partition.h"

#define AFFINITY_NO_VCPU 0xffffffffu

/* Returns the number of the VCPU that the partition's guest sees with this affinity, or
 * AFFINITY_NO_VCPU. All other bits of `affinity` must be 0. */
uint32_t affinity_vcpu(const struct partition *partition, uint64_t affinity);

/* Returns the number of the partition's first VCPU whose core has this affinity, or
 * AFFINITY_NO_VCPU. */
uint32_t affinity_vcpu_on_core(const struct partition *partition, uint64_t affinity);

#endif
