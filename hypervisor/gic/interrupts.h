/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What the Distributor and a Redistributor's SGI frame have alike: registers from IGROUPR to ICFGR,
 * with a field for each interrupt, at the same offsets (IHI 0069, chapter 12).
 */
#ifndef HYPERVISOR_GIC_INTERRUPTS_H
#define HYPERVISOR_GIC_INTERRUPTS_H

#include "hypervisor/access.h"

struct interrupts {
    uintptr_t frame;       /* its first register */
    const uint32_t *owned; /* bit i % 32 of word i / 32: the guest's interrupt i of this frame */
    uint32_t words;
};

/* Reads and writes the fields of the guest's interrupts only; `offset` is the frame's. Registers
 * that are none of these read as zero, and a write to them is refused. */
enum access_result interrupts_access(const struct interrupts *interrupts, struct access *access);

#endif
