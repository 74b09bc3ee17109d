/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The virtual Distributor of a partition (IHI 0069, chapter 12). It has the partition's SPIs, all
 * in Group 1, with affinity routing, one security state and no LPIs. The fields of other interrupts
 * read as zero. A write changes only the fields of the partition's interrupts. If it would change
 * others, too, the result is ACCESS_REFUSED.
 */
#ifndef HYPERVISOR_GIC_DISTRIBUTOR_H
#define HYPERVISOR_GIC_DISTRIBUTOR_H

#include "hypervisor/access.h"
#include "hypervisor/vcpu.h"

/* Handles an access of a VCPU's guest to the Distributor. access->offset: from GICD's first
 * register, below GIC_FRAME_BYTES. Any VCPU of the partition, several at the same time. */
enum access_result distributor_access(struct vcpu *vcpu, struct access *access);

/* The same with the hypervisor's numbers of interrupts (gic/renumbered.h). */
enum access_result distributor_access_own(struct vcpu *vcpu, struct access *access);

#endif
