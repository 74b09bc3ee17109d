/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by the files of this folder and by shared/interrupts.c: owners of interrupts 0 to 31,
 * priorities, resets of interrupts. */
#ifndef HYPERVISOR_GIC_INTERNAL_H
#define HYPERVISOR_GIC_INTERNAL_H

#include "gic/setup.h"

/* One bit each, the same on every core. */
#define PRIVATE_OWN_USED (1u << GIC_OWN_SGI | 1u << GIC_OWN_TIMER)
#define PRIVATE_OWN      (PRIVATE_OWN_USED | 1u << GIC_OWN_MAINTENANCE | 1u << GIC_OWN_VIRTUAL)
#define PRIVATE_GUEST    (~PRIVATE_OWN)

/* Guests' interrupts have priorities from 0x80 on, which are less urgent, because a guest can write
 * ICC_BPR1_EL1. Any value there leaves at least bit 7 in the group priority of an active interrupt
 * (IHI 0069, "Priority grouping"). An active interrupt with group priority 0 would block Group
 * 0. */
#define PRIORITY_DIRECT_MIN 0x80u
/* A listed interrupt is active for the hypervisor only until its priority is dropped. So it need
 * only be less urgent than the hypervisor's own, in the fewest bits that a GIC implements: 4. */
#define PRIORITY_LISTED_MIN 0x10u
#define PRIORITY_USUAL      0xa0u
#define PRIORITY_OWN        0x00u
/* ICC_PMR_EL1: all interrupts, and the hypervisor's alone. */
#define PRIORITY_MASK_OPEN 0xffu
#define PRIORITY_MASK_OWN  PRIORITY_LISTED_MIN

/* A frame of interrupts, and the register with the bit that is set while a disabling write still
 * takes effect (RWP). */
struct gic_frame {
    uintptr_t interrupts; /* GICD, or GICR's SGI frame */
    uintptr_t control;    /* GICD_CTLR or GICR_CTLR */
    uint32_t write_pending;
};

struct gic_frame gic_distributor(const struct description *system);
struct gic_frame gic_private(const struct description_core *core);

/* Polls the register until none of `bits` is set. Returns false if that does not happen within a
 * number of polls. */
bool gic_wait_clear(uintptr_t address, uint32_t bits);

/* Disables the interrupts in `mask`, of the 32 from 32 * word on, clears their pending and active
 * states, and sets their priority. Returns false if RWP does not clear. */
bool gic_silence_interrupts(const struct gic_frame *frame, uint32_t word, uint32_t mask,
                            uint8_t priority);

#endif
