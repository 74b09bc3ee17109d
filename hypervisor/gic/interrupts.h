/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The registers that the Distributor and a Redistributor's SGI frame both have: IGROUPR to ICFGR,
 * with a field for each interrupt, at the same offsets (IHI 0069, chapter 12).
 */
#ifndef HYPERVISOR_GIC_INTERRUPTS_H
#define HYPERVISOR_GIC_INTERRUPTS_H

#include "gic/internal.h"
#include "hypervisor/access.h"
#include "hypervisor/vcpu.h"

struct interrupts {
    struct gic_frame frame;
    const uint32_t *owned; /* bit i % 32 of word i / 32: interrupt i of this frame is the guest's */
    uint32_t words;
    struct vcpu *vcpu;  /* whose guest accesses the frame */
    uint32_t listed_by; /* VCPUs in whose list registers they may be, one bit each; 0: none */
};

/* Handles an access to such a register: reads and writes the fields of the guest's interrupts only.
 * `offset`: in the frame. Other registers read as zero, and a write to them is ACCESS_REFUSED. */
enum access_result interrupts_access(const struct interrupts *interrupts, struct access *access);

#endif
