/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The interrupt controller as the hypervisor uses it. Group 0 has the hypervisor's interrupts: some
 * private ones of each core and the SPIs of its own devices, all with the highest priority. Group 1
 * has the interrupts of the partitions. With two security states (GICD_CTLR.DS is 0) Group 0 is the
 * firmware's, and Group 1 has both.
 */
#ifndef HYPERVISOR_GIC_SETUP_H
#define HYPERVISOR_GIC_SETUP_H

#include "hypervisor/vcpu.h"
#include <stddef.h>

/* Private interrupts of the hypervisor, the same on every core. */
#define GIC_OWN_SGI         15u /* a message from another monitor */
#define GIC_OWN_MAINTENANCE 25u /* of the virtual CPU interface; used with listed interrupts */
#define GIC_OWN_TIMER       26u /* CNTHP */
#define GIC_OWN_VIRTUAL     28u /* CNTHV; not used */

/* Returned by gic_acknowledge() if no interrupt is pending. */
#define GIC_NONE 1023u

/* Sets up the Distributor, every SPI, and the Redistributors of all cores that have a VCPU:
 * triggers and groups; all interrupts are disabled except the hypervisor's own. The hypervisor's
 * SPIs are routed to `core` (the description's index). Sets *shares_group1 if Group 0 is the
 * firmware's. Returns NULL, or the reason of a failure.
 * Called once, at boot, before any gic_start_core(). A partition's SPIs are in their reset state
 * only after gic_reset_partition(). */
const char *gic_start(const struct description *system, uint32_t core, bool *shares_group1);

/* Enables the CPU interface of the VCPU's core: Group 0 is signalled as FIQ. Direct interrupts, of
 * Group 1, are disabled until the guest enables them. Returns NULL, or the reason of a failure.
 * Called once on each core. */
const char *gic_start_core(struct vcpu *vcpu);

/* Resets the partition's SPIs: none is enabled, pending or active, all have the usual priority and
 * are routed to its boot core. Resets its GICD_CTLR. Called each time before the partition starts,
 * while all of its cores are in their monitors. */
void gic_reset_partition(struct partition *partition);

/* Resets the private interrupts of the VCPU's core in the same way, its CPU interface and its list
 * registers. Called on the core itself, each time before the VCPU starts and after it stops. */
void gic_reset_core(struct vcpu *vcpu);

/* From here on listed interrupts are signalled. Called on the core, before its VCPU executes. */
void gic_open_core(void);

/* Routes an SPI of the hypervisor to a core (the description's index) and makes it pending, so that
 * the core's monitor handles it at least once. */
void gic_route(const struct description *system, uint32_t interrupt, uint32_t core);

/* Makes an SPI pending. May be called on any core. */
void gic_make_pending(const struct description *system, uint32_t interrupt);

/* Returns true if the SPI is pending. */
bool gic_is_pending(const struct description *system, uint32_t interrupt);

/* Returns the INTID of the hypervisor's interrupt to handle, or GIC_NONE. The interrupt is active
 * until gic_end(). If the hypervisor's interrupts are in Group 1, those of the guest must be
 * masked. */
uint32_t gic_acknowledge(const struct partition *partition);
void gic_end(const struct partition *partition, uint32_t interrupt);
/* The same for an interrupt that listed_take() acknowledged. */
void gic_end_dropped(uint32_t interrupt);

/* Hides the priorities that are active for the guest on this core, so that the hypervisor's
 * interrupts are signalled whatever the guest has feigned (docs/decisions/0013). Returns what
 * gic_restore_active() restores. */
uint64_t gic_hide_active(void);
void gic_restore_active(uint64_t active);

#endif
