/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The hypervisor's interface to the interrupt controller. Group 0 has the hypervisor's interrupts:
 * some private ones of each core, and the SPIs of its own devices. All of them have the highest
 * priority. Group 1 has the interrupts of the partitions. With two security states (GICD_CTLR.DS is
 * 0) the firmware owns Group 0, and Group 1 has the interrupts of both.
 */
#ifndef HYPERVISOR_GIC_SETUP_H
#define HYPERVISOR_GIC_SETUP_H

#include "hypervisor/step.h"
#include "hypervisor/vcpu.h"
#include <stddef.h>

/* Private interrupts of the hypervisor, the same on every core. */
/* Message from another monitor; with two security states an SPI takes its place (struct
 * description_core). */
#define GIC_OWN_SGI 15u
/* Interrupt of the performance monitors (BSA, PPI 7). The hypervisor has it on cores of partitions
 * whose memory bandwidth is limited (gic/counter_interrupt.h), the guest on all others. */
#define GIC_OWN_COUNTERS 23u
/* Maintenance interrupt of the virtual CPU interface; used with listed interrupts. */
#define GIC_OWN_MAINTENANCE 25u
#define GIC_OWN_TIMER       26u /* EL2 physical timer (CNTHP) */
#define GIC_OWN_VIRTUAL     28u /* EL2 virtual timer (CNTHV); not used */

/* Result of gic_acknowledge() if no interrupt is pending. */
#define GIC_NONE 1023u

/* Sets up the Distributor and all SPIs: triggers, groups, and enables of the hypervisor's own
 * interrupts; all others are disabled. Switches LPIs off. Routes the hypervisor's SPIs to `core`
 * (the description's index). Sets *shares_group1 to true if the firmware owns Group 0. Returns
 * NULL, or the reason of a failure in static memory, which ends with *number: an address or an
 * INTID. Boot, once, before any gic_start_core() and before memory is given to partitions. A
 * partition's SPIs are in their reset state only after gic_reset_partition(). */
const char *gic_start(const struct description *system, uint32_t core, bool *shares_group1,
                      uint64_t *number);

/* Sets up the Redistributor of the VCPU's core, and enables its CPU interface. Of the core's
 * private interrupts, only the hypervisor's are enabled. Group 0 is signalled as FIQ. Group 1 stays
 * disabled until the guest enables it, if its interrupts are direct. Returns NULL, or the reason of
 * a failure in static memory. Called once on each core. */
const char *gic_start_core(struct vcpu *vcpu);

/* Takes the next step of resetting the partition's SPIs, eight at most: none is enabled, pending or
 * active, all have the usual priority and are routed to its boot core. The last step resets its
 * GICD_CTLR. `*group`: 0 before the first step. Returns STEP_PENDING, then STEP_DONE; STEP_FAILED
 * if the GIC does not settle after this step, or has not after the reset of one of the cores.
 * Another step follows then. Called each time before the partition starts and after it stops, while
 * all of its cores are in their monitors. */
enum step_outcome gic_reset_partition(struct partition *partition, uint32_t *group);

/* Resets the private interrupts of the VCPU's core in the same way, its CPU interface and its list
 * registers. Listed interrupts are not signalled until gic_open_core(). Called on the core, each
 * time before the VCPU starts and after it stops. */
void gic_reset_core(struct vcpu *vcpu);

/* Lets listed interrupts be signalled from now on. Called on the core, before its VCPU executes. */
void gic_open_core(const struct vcpu *vcpu);

/* Routes an SPI of the hypervisor to a core (the description's index) and makes it pending, so that
 * the core's monitor handles it at least once. The route does not change if that core has halted.
 * Any core. */
void gic_route(const struct description *system, uint32_t interrupt, uint32_t core);

/* Records that the core has halted. Returns false if it was recorded before. */
bool gic_record_halt(uint32_t core);

/* Returns true if the core has halted. Another core may halt right after. Any core. */
bool gic_has_halted(uint32_t core);

/* Routes an SPI of the hypervisor to core `to` if it is routed to core `from`. Returns false, and
 * changes nothing, if core `to` has halted. On core `from`, after gic_record_halt(). */
bool gic_take_over(const struct description *system, uint32_t interrupt, uint32_t from,
                   uint32_t to);

/* Makes an SPI of the hypervisor pending and not active: an active SPI is not signalled, and only
 * the core that has acknowledged it ends it. On that core, which has halted, after
 * gic_take_over(). */
void gic_end_for_halted(const struct description *system, uint32_t interrupt);

/* Makes an SPI pending. `interrupt`: INTID. Any core. */
void gic_make_pending(const struct description *system, uint32_t interrupt);

/* Disables an SPI of the hypervisor. It may be signalled once more. Any core. */
void gic_mask(const struct description *system, uint32_t interrupt);

/* Enables an SPI of the hypervisor that gic_mask() has disabled, and clears its pending state. An
 * edge that arrives after the function has returned makes it pending. Any core. */
void gic_unmask(const struct description *system, uint32_t interrupt);

/* Returns true if the SPI is pending. Any core. */
bool gic_is_pending(const struct description *system, uint32_t interrupt);

/* Acknowledges the hypervisor's most urgent interrupt, and returns its INTID, or GIC_NONE. The
 * interrupt is active until gic_end(). If the hypervisor's interrupts are in Group 1, those of the
 * guest must be masked. `partition`: that of the VCPU that executes on this core. */
uint32_t gic_acknowledge(const struct partition *partition);
void gic_end(const struct partition *partition, uint32_t interrupt);
/* Ends an interrupt of the hypervisor that listed_take() acknowledged. */
void gic_end_dropped(uint32_t interrupt);

/* Hides the active priorities of the guest on this core, so that the hypervisor's interrupts are
 * signalled whatever active priority the guest has feigned (docs/decisions/0013). Returns the value
 * for gic_restore_active(). */
uint64_t gic_hide_active(void);
void gic_restore_active(uint64_t active);

#endif
