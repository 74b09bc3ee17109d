/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Interrupts by list registers, for partitions with interrupts = "listed". All interrupts enter
 * EL2, which acknowledges them, drops their priority (EOImode 1), and writes them to a list
 * register of the virtual CPU interface. There the guest acknowledges and ends them without an
 * exit. For a PPI or SPI the list register has the HW bit: the physical interrupt is active until
 * the guest ends it, so it does not interrupt again (IHI 0069, ICH_LR<n>_EL2).
 *
 * The state of an interrupt is in two places only. The Distributor and the Redistributors have
 * whether it is enabled, its priority, its route, and that it is pending while it waits. A list
 * register has an interrupt that the guest may acknowledge, or has acknowledged. If more interrupts
 * are pending than there are list registers, the less urgent ones wait in the GIC, masked by
 * ICC_PMR_EL1, and an underflow interrupt ends the wait.
 *
 * All functions are called on the VCPU's own processor. Images without listed interrupts have
 * listed_absent.c and listed_resident_absent.c, whose functions have no effect.
 */
#ifndef GIC_LISTED_H
#define GIC_LISTED_H

#include "hypervisor/access.h"
#include "hypervisor/vcpu.h"

/* The fewest list registers with which the underflow interrupt, of one or no used list register,
 * leaves room. */
#define LIST_REGISTERS_MIN 2u

/* Returns true if the image has the code for listed interrupts. */
bool listed_is_supported(void);

/* Returns true if the partition's interrupts are listed. */
static inline bool listed_has(const struct partition *partition)
{
    return partition->constant.is_listed;
}

/* Returns true if the firmware has Group 0, so that the hypervisor's interrupts are in Group 1. */
static inline bool listed_shares_group1(const struct partition *partition)
{
    return partition->constant.shares_group1;
}

/* Takes the next physical interrupt of Group 1. Returns true if it is in a list register now, or if
 * there was none. Returns false if listed_resolve() has to handle it. Resident: uses only the
 * VCPU's page, the partition's page and the CPU interface. */
bool listed_take(struct vcpu *vcpu);

/* Notes that priorities or triggers of the VCPU's SGIs and PPIs may be others now. */
static inline void listed_note_settings_change(struct vcpu *vcpu)
{
    vcpu->list.has_changed = true;
}

/* Handles the interrupt for which listed_take() returned false. Returns false if the interrupt is
 * not the guest's, or is routed to another VCPU of the partition. It is active then, with its
 * priority dropped. */
bool listed_resolve(struct vcpu *vcpu);

/* Finds out how this core's CPU interface shows priorities, and splits the ends of the hypervisor's
 * interrupts. Returns NULL, or the reason of a failure. Called once on each core. */
const char *listed_start(struct vcpu *vcpu);

/* Handles the maintenance interrupt: of the interrupts that waited, the next can be listed. */
void listed_underflow(struct vcpu *vcpu);

/* Handles a trapped write to ICC_DIR_EL1. */
void listed_deactivate(struct vcpu *vcpu, uint64_t value);

/* Makes the list registers agree with the registers of the GIC, to which a guest has written. */
void listed_apply_changes(struct vcpu *vcpu);

/* The same, if a guest has written to the GIC. Called at the end of each exit that the services
 * handle. Inline, because a guest seldom has. */
static inline void listed_revise(struct vcpu *vcpu)
{
    uint32_t vcpus = __atomic_load_n(&vcpu->partition->atomic.changes.vcpus, __ATOMIC_ACQUIRE);

    if ((vcpus >> vcpu->number & 1) != 0) {
        listed_apply_changes(vcpu);
    }
}

/* For a VCPU on a shared core: keeps an interrupt that was acknowledged until listed_bring_back().
 * An SPI that is set aside already is muted until then (gic/muted.h). The VCPU need not execute. */
void listed_set_aside(struct vcpu *vcpu, uint32_t number);

/* Does so for SGIs of the VCPU, which its core has not acknowledged: bit n is SGI n. */
static inline void listed_set_sgis_aside(struct vcpu *vcpu, uint32_t sgis)
{
    vcpu->list.aside[0] |= sgis;
    vcpu->list.has_aside = vcpu->list.has_aside || sgis != 0;
}

/* Makes an interrupt that was acknowledged pending in the GIC again: an SPI, or one of the VCPU,
 * which executes. A level-sensitive one is pending there as long as its line is asserted. */
void listed_return(const struct vcpu *vcpu, uint32_t number);

/* Makes the interrupts that were set aside pending in the GIC again. */
void listed_bring_back(struct vcpu *vcpu);

/* Returns true if the guest could acknowledge an interrupt: a list register has a pending one. */
bool listed_is_pending(const struct vcpu *vcpu);

/* Empties the list registers, and lets no interrupt of the guest be signalled until
 * gic_open_core(). SPIs that the guest has not acknowledged are pending in the Distributor again.
 */
void listed_reset(struct vcpu *vcpu);

/* Sets the state of a partition's interrupts before the partition starts: none is being changed. */
void listed_reset_partition(struct partition *partition);

/* Returns true if a VCPU of `vcpus` (bit n: VCPU n) has yet to make its list registers agree with a
 * write to the GIC. Until then the guest of `vcpu` reads RWP as 1. Not for VCPUs of the same core:
 * while the caller's guest executes they do not, and each does it before its guest continues. */
bool listed_is_revising(const struct vcpu *vcpu, uint32_t vcpus);

/* The interrupts of a word of a frame that are in list registers of this processor, one bit each.
 */
struct listed_word {
    uint32_t pending; /* also those that are active and pending */
    uint32_t active;  /* likewise */
};

/* `first`: the word's first interrupt. */
struct listed_word listed_read(struct vcpu *vcpu, uint32_t first);

/* VCPUs whose list registers may have the interrupts of a write are `targets`: bit n is VCPU n. */

/* Sends a message to each of them, except `vcpu`. */
void listed_call(const struct vcpu *vcpu, uint32_t targets);

/* Before a guest's write to GIC_ICACTIVER. A VCPU that takes an interrupt which the write causes
 * knows that its list registers may be out of date. Returns those to be called. The others have
 * been called, and have not executed since: a guest can interrupt another core only as often as its
 * own VCPU executes there. */
uint32_t listed_announce(struct partition *partition, uint32_t targets);

/* After a guest's write of ones to a register that clears enables, pending or active states: the
 * list registers follow, those of other VCPUs soon. `uncalled`: what listed_announce() returned
 * before the write, or 0. `offset`: GIC_ICENABLER, GIC_ICPENDR or GIC_ICACTIVER. `held`: the
 * interrupts of the word from `first` on that may be in a list register. */
void listed_clear(struct vcpu *vcpu, uint32_t targets, uint32_t uncalled, uint32_t offset,
                  uint32_t first, uint32_t held);

#endif
