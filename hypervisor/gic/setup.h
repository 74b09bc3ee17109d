/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The interrupt controller from the hypervisor's side. Group 0 is the hypervisor's: a few private
 * interrupts of each core and the SPIs of its own devices, all of the highest priority. Group 1 is
 * the partitions'.
 */
#ifndef HYPERVISOR_GIC_SETUP_H
#define HYPERVISOR_GIC_SETUP_H

#include "hypervisor/partition.h"
#include <stddef.h>

/* Private interrupts that are the hypervisor's on every core. */
#define GIC_OWN_SGI         15u /* a message from another monitor */
#define GIC_OWN_MAINTENANCE 25u /* of the virtual CPU interface; not used */
#define GIC_OWN_TIMER       26u /* CNTHP */
#define GIC_OWN_VIRTUAL     28u /* CNTHV; not used */

/* What gic_acknowledge() answers when nothing is pending. */
#define GIC_NONE 1023u

/* Boot, once, before any gic_start_core(): the Distributor, every SPI, the Redistributors of all
 * cores that have a partition: triggers, groups, all off but the hypervisor's own. Its SPIs are
 * routed to `core` (the description's index). NULL, or what is wrong, for the console. A
 * partition's SPIs are ready for it only after gic_reset_partition(). */
const char *gic_start(const struct description *system, uint32_t core);

/* Each core, once: its CPU interface. From then on Group 0 comes as FIQ; Group 1 is off until the
 * guest turns it on. NULL, or what is wrong. */
const char *gic_start_core(void);

/* Each time before the partition starts, while all of its cores are in their monitors: its SPIs are
 * neither enabled, pending nor active, of the usual priority, and routed to its boot core; its
 * GICD_CTLR is as after a reset. */
void gic_reset_partition(struct partition *partition);

/* Each time before a core begins, on the core itself: the same for its private interrupts and for
 * its CPU interface. */
void gic_reset_core(const struct description_core *core);

/* Routes an SPI of the hypervisor's own to a core (the description's index), and raises it, so that
 * the core's monitor looks at least once. */
void gic_route(const struct description *system, uint32_t interrupt, uint32_t core);

/* Makes an SPI pending. Any core. */
void gic_raise(const struct description *system, uint32_t interrupt);

/* The Group 0 interrupt (INTID) to handle, or GIC_NONE; it is active until gic_end(). */
uint32_t gic_acknowledge(void);
void gic_end(uint32_t interrupt);

#endif
