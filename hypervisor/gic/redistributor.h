/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Redistributors as a partition sees them: those of its own VCPUs, awake, without LPIs and without
 * the hypervisor's private interrupts. The frames of its VCPU n are at the address of the machine's
 * n-th core, as on a machine that has the partition's VCPUs only.
 */
#ifndef HYPERVISOR_GIC_REDISTRIBUTOR_H
#define HYPERVISOR_GIC_REDISTRIBUTOR_H

#include "hypervisor/access.h"
#include "hypervisor/vcpu.h"

/* RD frame and SGI frame. */
#define REDISTRIBUTOR_BYTES UINT64_C(0x20000)

/* Handles an access of a VCPU's guest to guest address `address`, and sets access->offset to the
 * offset in the frame. Returns ACCESS_FORBIDDEN if no frame is there. Any VCPU of the partition,
 * several at the same time. */
enum access_result redistributor_access(struct vcpu *accessing, uint64_t address,
                                        struct access *access);

/* Handles an access to the SGI frame of the VCPU, which executes. access->offset: in the frame. */
enum access_result redistributor_access_own(struct vcpu *vcpu, struct access *access);

#endif
