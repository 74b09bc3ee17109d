/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The registers of the CPU interface that Group 0 and Group 1 have in common: ICC_PMR_EL1,
 * ICC_RPR_EL1, ICC_CTLR_EL1 and ICC_DIR_EL1. A guest with direct interrupts has the physical
 * registers of Group 1, but because HCR_EL2.FMO is 1, the common ones would be virtual and have no
 * effect on its interrupts (IHI 0069, ICV_PMR_EL1). So accesses to them trap, and take effect on
 * the physical registers as far as they concern Group 1 alone.
 *
 * GICD_CTLR.DS is 1 on each board with direct interrupts, so EL1 and EL2 have the same view of
 * priorities.
 *
 * Called on the VCPU's own core. Resident: uses only the VCPU's page, the partition's page and the
 * CPU interface.
 */
#ifndef GIC_DIRECT_H
#define GIC_DIRECT_H

#include "hypervisor/access.h"
#include "hypervisor/vcpu.h"

/* Resets the registers for a guest that starts. As after a reset of a processor, no interrupt is
 * signalled to the guest until it writes ICC_PMR_EL1. */
void direct_reset(struct vcpu *vcpu);

/* Handles a write to ICC_PMR_EL1. Whatever the value, the hypervisor's interrupts are signalled. */
void direct_set_mask(struct vcpu *vcpu, uint64_t value);

/* Returns the value that the guest reads in ICC_PMR_EL1. */
uint64_t direct_mask(const struct vcpu *vcpu);

/* Handles a write to ICC_CTLR_EL1: only EOImode changes. CBPR and PMHE stay 0, because they change
 * how the CPU interface handles Group 0, too. */
void direct_set_control(uint64_t value);

/* Returns the value that the guest reads in ICC_CTLR_EL1. */
uint64_t direct_control(void);

/* Returns the value that the guest reads in ICC_RPR_EL1. */
uint64_t direct_running_priority(void);

/* Handles a write to ICC_DIR_EL1. Returns ACCESS_REFUSED if the interrupt is not the guest's. */
enum access_result direct_deactivate(const struct vcpu *vcpu, uint64_t value);

#endif
