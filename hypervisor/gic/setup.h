/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The interrupt controller as the hypervisor uses it. Group 0 has the hypervisor's interrupts: a
 * few private ones of each core and the SPIs of its own devices, all at the highest priority. Group
 * 1 has those of the partitions.
 */
#ifndef HYPERVISOR_GIC_SETUP_H
#define HYPERVISOR_GIC_SETUP_H

#include "hypervisor/partition.h"
#include <stddef.h>

/* Private interrupts of the hypervisor, the same on every core. */
#define GIC_OWN_SGI         15u /* a message from another monitor */
#define GIC_OWN_MAINTENANCE 25u /* of the virtual CPU interface; not used */
#define GIC_OWN_TIMER       26u /* CNTHP */
#define GIC_OWN_VIRTUAL     28u /* CNTHV; not used */

/* Returned by gic_acknowledge() if no interrupt is pending. */
#define GIC_NONE 1023u

/* Boot, once, before any gic_start_core(): the Distributor, every SPI, the Redistributors of all
 * cores that have a partition: triggers, groups, all off but the hypervisor's own. Its SPIs are
 * routed to `core` (the description's index). Returns NULL, or the reason of a failure. A
 * partition's SPIs are in their reset state only after gic_reset_partition(). */
const char *gic_start(const struct description *system, uint32_t core);

/* Enables this core's CPU interface: Group 0 is signalled as FIQ, and Group 1 is disabled until the
 * guest enables it. Returns NULL, or the reason of a failure. Once on each core. */
const char *gic_start_core(void);

/* Each time before the partition starts, while all of its cores are in their monitors: its SPIs are
 * neither enabled, pending nor active, of the usual priority, and routed to its boot core; its
 * GICD_CTLR is as after a reset. */
void gic_reset_partition(struct partition *partition);

/* Each time before a core begins, on the core itself: the same for its private interrupts and for
 * its CPU interface. */
void gic_reset_core(const struct description_core *core);

/* Routes an SPI of the hypervisor to a core (the description's index) and makes it pending, so that
 * the core's monitor handles it at least once. */
void gic_route(const struct description *system, uint32_t interrupt, uint32_t core);

/* Makes an SPI pending. Any core. */
void gic_make_pending(const struct description *system, uint32_t interrupt);

/* Returns the INTID of the Group 0 interrupt to handle, which is active until gic_end(), or
 * GIC_NONE. */
uint32_t gic_acknowledge(void);
void gic_end(uint32_t interrupt);

#endif
