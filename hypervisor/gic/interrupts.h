/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The registers with a field for each interrupt: IGROUPR to ICFGR. The Distributor and a
 * Redistributor's SGI frame both have them, at the same offsets (IHI 0069, chapter 12).
 */
#ifndef HYPERVISOR_GIC_INTERRUPTS_H
#define HYPERVISOR_GIC_INTERRUPTS_H

#include "gic/internal.h"
#include "hypervisor/access.h"
#include "hypervisor/vcpu.h"

/* The interrupts of a frame that a guest accesses. */
struct interrupts {
    struct gic_frame frame;
    const uint32_t *owned; /* bit i % 32 of word i / 32: the guest owns interrupt i of the frame */
    uint32_t words;        /* number of words in `owned` */
    struct vcpu *vcpu;     /* the VCPU whose guest accesses the frame */
    /* Bit n: the interrupts may be in list registers of VCPU n; 0: they are direct. */
    uint32_t listed_by;
};

/* Returns the number of bits of each interrupt's field in the register at `offset`, and sets *first
 * to the register's first interrupt. Returns 0 if there is no such register. */
unsigned interrupts_field_bits(uint32_t offset, uint32_t *first);

/* Handles an access to such a register: reads and writes only the fields of the guest's interrupts.
 * access->offset: in the frame. Other registers read as zero; a write to them is ACCESS_REFUSED.
 * Returns ACCESS_AGAIN if the write has to wait for other VCPUs. */
enum access_result interrupts_access(const struct interrupts *interrupts, struct access *access);

#endif
