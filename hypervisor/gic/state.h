/* SPDX-License-Identifier: BSD-2-Clause */
/* The state of listed interrupts: changes by the guests of a partition, and the interrupts of a
 * VCPU (gic/listed.h). */
#ifndef GIC_STATE_H
#define GIC_STATE_H

#include "hypervisor/description.h"
#include "hypervisor/ticket_lock.h"
#include <stdbool.h>
#include <stdint.h>

/* Interrupts in list registers whose enable, pending or active state a guest has cleared in the
 * Distributor or a Redistributor. The monitors of all VCPUs of the partition access these words, by
 * atomic operations. Before the partition starts, the boot VCPU's monitor sets them. */
struct list_changes {
    uint32_t vcpus; /* bit n: VCPU n has to revise its list registers */
    /* Bit i % 32 of word i / 32: SPI i is the partition's, and its pending state has not been
     * cleared since it was listed. */
    uint32_t listable[DESCRIPTION_SPI_WORDS];
    uint32_t private_listable[DESCRIPTION_VCPUS_MAX]; /* the same of interrupts 0 to 31, by VCPU */
    /* Interrupts whose active state was cleared, by VCPU: bit n is SGI n, or one of the SPIs of
     * group n (list_changes_group()). */
    uint32_t deactivated[DESCRIPTION_VCPUS_MAX];
    /* SPIs that are muted (gic/muted.h). `lock` protects changes together with the enables of the
     * partition's SPIs in the Distributor. */
    uint32_t muted[DESCRIPTION_SPI_WORDS];
    struct ticket_lock lock;
};

/* Returns the bit in list_changes.deactivated that an SPI has in common with 63 others. */
static inline uint32_t list_changes_group(uint32_t spi)
{
    return UINT32_C(0x10000) << spi / 64;
}

#define LIST_REGISTERS_MAX 16u
#define LIST_EVICTED_MAX   1020u /* each SGI, PPI and SPI once */
#define EVICTED_NUMBER     0x3ffu
#define EVICTED_PENDING    0x8000u

/* The interrupts of a VCPU whose partition has listed interrupts. Only the monitors of the VCPU's
 * processor access them. */
struct interrupt_list {
    /* The CPU interface shows priorities as the other security state has them: 0x80 | P >> 1. */
    bool is_raw;
    uint64_t deactivation_trap;           /* bit of ICH_HCR_EL2 that traps writes to ICC_DIR_EL1 */
    uint32_t registers;                   /* the list registers that the processor has: bits */
    uint32_t number;                      /* INTID acknowledged last: its priority is dropped */
    uint32_t priority;                    /* priority of that interrupt */
    uint16_t numbers[LIST_REGISTERS_MAX]; /* INTID written to each list register last */
    /* Interrupts of this priority and less urgent ones wait for a list register (gic/lists.h). */
    uint32_t threshold;
    /* Active interrupts for which no list register was left, the least urgent first. An SGI may be
     * pending again. */
    uint32_t evicted_count;
    uint16_t evicted[LIST_EVICTED_MAX];
    /* On a shared core, one bit each: interrupts that are pending for the guest, and that no list
     * register has, because all are used or because the VCPU does not execute. PPIs and SPIs are
     * active in the GIC, so that they come once. */
    uint32_t aside[DESCRIPTION_SPI_WORDS];
    bool has_aside;
    bool has_changed; /* on a shared core: priorities or triggers of SGIs and PPIs may be others */
};

#endif
