/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The Distributor as a partition sees it (IHI 0069, chapter 12): its own SPIs, all Group 1, with
 * affinity routing, one security state, no LPIs. What is others' reads as zero, and writes reach
 * only what is its own; a write that meant something of others' too is ACCESS_REFUSED.
 */
#ifndef HYPERVISOR_GIC_DISTRIBUTOR_H
#define HYPERVISOR_GIC_DISTRIBUTOR_H

#include "hypervisor/access.h"
#include "hypervisor/partition.h"

/* `offset` from GICD's first register, below GIC_FRAME_BYTES. Any core of the partition; several at
 * the same time. */
enum access_result distributor_access(struct partition *partition, struct access *access);

#endif
