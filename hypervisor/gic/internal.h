/* SPDX-License-Identifier: BSD-2-Clause */
/* Shared by the files of this folder: owners of interrupts 0 to 31, priorities, silencing. */
#ifndef HYPERVISOR_GIC_INTERNAL_H
#define HYPERVISOR_GIC_INTERNAL_H

#include "gic/setup.h"

/* One bit each, the same on every core. */
#define PRIVATE_OWN_USED (1u << GIC_OWN_SGI | 1u << GIC_OWN_TIMER)
#define PRIVATE_OWN      (PRIVATE_OWN_USED | 1u << GIC_OWN_MAINTENANCE | 1u << GIC_OWN_VIRTUAL)
#define PRIVATE_GUEST    (~PRIVATE_OWN)

/* A guest's interrupts are less urgent than the hypervisor's whatever it does to ICC_BPR1_EL1: that
 * leaves at least bit 7 to the priority that an active interrupt counts with (IHI 0069, "Priority
 * grouping"), and one that counted with 0 would hold off Group 0. */
#define PRIORITY_GUEST_MIN 0x80u
#define PRIORITY_USUAL     0xa0u
#define PRIORITY_OWN       0x00u

/* Where a frame of interrupts says that what was turned off has arrived everywhere (RWP). */
struct gic_frame {
    uintptr_t interrupts; /* GICD, or GICR's SGI frame */
    uintptr_t control;    /* GICD_CTLR or GICR_CTLR */
    uint32_t write_pending;
};

struct gic_frame gic_distributor(const struct description *system);
struct gic_frame gic_private(const struct description_core *core);

/* Reads the register until none of `bits` is set; false if that does not happen. */
bool gic_wait_clear(uintptr_t address, uint32_t bits);

/* Disables the interrupts in `mask`, of the 32 from 32 * word on, clears their pending and active
 * states, and sets their priority. Returns false if the GIC does not settle (RWP). */
bool gic_silence_interrupts(const struct gic_frame *frame, uint32_t word, uint32_t mask,
                            uint8_t priority);

#endif
