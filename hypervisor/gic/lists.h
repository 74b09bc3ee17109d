/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A copy of the list registers of a VCPU that executes, and the choice of the interrupts that are
 * in them. An operation on listed interrupts reads the registers into the copy, changes the copy,
 * and writes it back (gic/listed_internal.h). The functions here access no register: they read and
 * change the copy, and the evicted interrupts in the VCPU's page.
 *
 * An interrupt is evicted if it is active for the guest and in no list register. The guest ends
 * such an interrupt as any other: EOIcount counts that, or the write to ICC_DIR_EL1 traps.
 *
 * A greater priority value is less urgent. Indices are those of list registers.
 */
#ifndef GIC_LISTS_H
#define GIC_LISTS_H

#include "gic/list_register.h"
#include "hypervisor/vcpu.h"
#include <stdbool.h>
#include <stdint.h>

/* The underflow interrupt is asserted while fewer list registers than this are used. A core with
 * listed interrupts has at least as many. */
#define LIST_REGISTERS_MIN 2u

/* In place of an index: there is no such list register. */
#define LISTS_NONE LIST_REGISTERS_MAX

/* Less urgent than each priority. As the running priority: nothing is active. As the threshold: no
 * interrupt waits. */
#define LISTS_IDLE 0x100u

struct lists {
    struct vcpu *vcpu;
    unsigned count;                      /* number of list registers: LIST_REGISTERS_MIN or more */
    uint64_t values[LIST_REGISTERS_MAX]; /* ICH_LR<n>_EL2; 0: free */
    uint64_t control;                    /* ICH_HCR_EL2 as it was read */
    bool guest_splits;                   /* the guest has EOImode 1 (ICH_VMCR_EL2.VEOIM) */
    uint32_t running; /* the most urgent priority that is active for the guest, or LISTS_IDLE */
    /* Only interrupts that are more urgent are signalled. The others wait for a list register. */
    uint32_t threshold;
};

/* Returns the index of the list register that has the interrupt, or LISTS_NONE. */
unsigned lists_find(const struct lists *lists, uint32_t number);

/* Returns a free list register, or LISTS_NONE. */
unsigned lists_find_free(const struct lists *lists);

/* Returns the list register whose interrupt is the least urgent of those that are pending and not
 * active, or LISTS_NONE. */
unsigned lists_find_pending(const struct lists *lists);

/* Returns the list register whose interrupt is the least urgent of those that are active, or
 * LISTS_NONE. */
unsigned lists_find_active(const struct lists *lists);

/* Returns the number of list registers with one of these states. `states`: bits of LIST_STATE. */
unsigned lists_count(const struct lists *lists, uint64_t states);

/* Makes the interrupt of a list register pending, because it was acknowledged physically once more.
 * An SGI that is active stays active, too. A PPI or SPI does not: it was deactivated by a write to
 * the GIC, so its active state in the list register is out of date. */
void lists_pend(struct lists *lists, unsigned index);

/* Returns the list register for an interrupt of this priority that is in none: a free one; or one
 * whose active interrupt is to be evicted, or whose pending one is to wait in its place. Returns
 * LISTS_NONE if the interrupt itself has to wait: for those that are pending with at least its
 * urgency, or for the one that the guest handles. */
unsigned lists_choose(const struct lists *lists, uint32_t priority);

/* Returns true if an interrupt that is set aside may be more urgent than `priority`. None is more
 * urgent than a pending one that has a list register; nothing else is known of their priorities. */
bool lists_has_aside_before(const struct lists *lists, uint32_t priority);

/* Evicts the active interrupt of a list register, which is the least urgent of the active ones
 * there. list.evicted has room for each interrupt once. */
void lists_evict(struct lists *lists, unsigned index);

/* Returns the index of an interrupt in list.evicted, or list.evicted_count if it is not there. */
uint32_t lists_find_evicted(const struct interrupt_list *list, uint32_t number);

/* Removes the interrupt list.evicted[evicted]. */
void lists_remove_evicted(struct interrupt_list *list, uint32_t evicted);

/* Moves the most urgent evicted interrupt, of this priority, into a free list register. There is
 * one of each. `has_notice`: its end has to enter EL2. */
void lists_readmit(struct lists *lists, uint32_t priority, bool has_notice);

/*
 * Lets interrupts wait: signals only those that would get a list register now.
 *
 * With EOImode 0 they wait until at most one list register is used. So that this happens as soon as
 * one of them is the most urgent, the list registers keep, besides the pending interrupts, only the
 * active one that the guest handles, and without pending ones also the active one that this one
 * interrupted. With EOImode 1 they wait until no list register is pending.
 */
void lists_close(struct lists *lists);

/* Lets all interrupts be signalled. Those for which there is no list register wait again. */
void lists_open(struct lists *lists);

/*
 * Returns the value that ICH_HCR_EL2 needs, with EOIcount 0: the causes of maintenance interrupts,
 * and whether writes to ICC_DIR_EL1 trap.
 *
 *                         EOImode 0                      EOImode 1
 *   interrupts wait       underflow                      underflow, none pending, trap
 *   some are evicted      underflow, absent end, trap    trap
 *
 * With EOImode 0 a guest frees the list registers when it ends its interrupts, and ends the most
 * urgent first. With EOImode 1 it may have any number that only have to be deactivated, in any
 * order.
 */
uint64_t lists_control(const struct lists *lists);

#endif
