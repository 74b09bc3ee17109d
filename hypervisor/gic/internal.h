/* SPDX-License-Identifier: BSD-2-Clause */
/* Owners of interrupts 0 to 31, priorities, and resets of interrupts, for the files of this folder
 * and world_switch/interrupts.c. */
#ifndef HYPERVISOR_GIC_INTERNAL_H
#define HYPERVISOR_GIC_INTERNAL_H

#include "gic/setup.h"
#include <arch/device_access.h>

/* Sets of private interrupts, the same on every core: bit n for INTID n. PRIVATE_OWN are those of
 * the hypervisor, PRIVATE_GUEST those of guests. */
#define PRIVATE_OWN \
    (1u << GIC_OWN_SGI | 1u << GIC_OWN_TIMER | 1u << GIC_OWN_MAINTENANCE | 1u << GIC_OWN_VIRTUAL)
#define PRIVATE_GUEST (~PRIVATE_OWN)

/* The highest priority of direct interrupts. A guest can write ICC_BPR1_EL1. Whatever value it
 * writes, at least bit 7 of an active interrupt's priority remains in the group priority (IHI 0069,
 * "Priority grouping"). An active interrupt with group priority 0 would block Group 0. */
#define PRIORITY_DIRECT_MIN 0x80u
/* The highest priority of listed interrupts. The hypervisor drops the priority of a listed
 * interrupt at once. So it must only be less urgent than the hypervisor's own interrupts, in the
 * fewest priority bits that a GIC implements: 4. */
#define PRIORITY_LISTED_MIN 0x10u
#define PRIORITY_USUAL      0xa0u
#define PRIORITY_OWN        0x00u
/* Values of ICC_PMR_EL1: all interrupts are signalled, or only those of the hypervisor. */
#define PRIORITY_MASK_OPEN 0xffu
#define PRIORITY_MASK_OWN  PRIORITY_LISTED_MIN

/* A register frame with interrupts, and the register that has RWP, the bit that is set while a
 * disabling write still takes effect. */
struct gic_frame {
    uintptr_t interrupts;   /* address of GICD, or of GICR's SGI frame */
    uintptr_t control;      /* address of GICD_CTLR or GICR_CTLR */
    uint32_t write_pending; /* RWP in that register */
};

struct gic_frame gic_distributor(const struct description *system);
struct gic_frame gic_private(const struct description_core *core);

/* Polls the register at `address` until none of `bits` is set. Returns false if a bit stays set for
 * some 100 us, or some 3 us if the last wait for the GIC was in vain (docs/waits.md). */
bool gic_wait_clear(uintptr_t address, uint32_t bits);

/* Does the same. Inline, because each change between VCPUs waits, and the first look is nearly
 * always enough. If it is, the GIC may still count as stuck. */
static inline bool gic_wait_clear_in_change(uintptr_t address, uint32_t bits)
{
    return (device_read32(address) & bits) == 0 || gic_wait_clear(address, bits);
}

/* Waits longer, for what takes longer than a write: 100,000 polls at least. Only at the start of
 * a core. */
bool gic_wait_long(uintptr_t address, uint32_t bits);

/* Resets interrupts: disables them, clears their pending and active states, and sets their
 * priority. `mask`: bit n is interrupt 32 * word + n of the frame. Returns false if RWP does not
 * clear. */
bool gic_silence_interrupts(const struct gic_frame *frame, uint32_t word, uint32_t mask,
                            uint8_t priority);

/* Routes an SPI of the partition to its boot VCPU. */
void gic_route_to_boot_vcpu(struct partition *partition, uint32_t interrupt);

#endif
