/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The state of a VCPU's interrupts while it does not execute. Its list registers, and the states of
 * its SGIs and PPIs in the Redistributor, are saved, because other VCPUs use the same registers.
 * The states of SPIs stay in the Distributor. An SPI that arrives for the VCPU meanwhile stays
 * active there, so that it does not arrive again, and is made pending when the VCPU executes.
 */
#ifndef WORLD_SWITCH_INTERRUPTS_H
#define WORLD_SWITCH_INTERRUPTS_H

#include "gic/internal.h"
#include "hypervisor/vcpu.h"
#include <stdbool.h>
#include <stdint.h>

#define PRIVATE_PRIORITY_WORDS 4u /* words of 64 bits */
#define ACTIVE_PRIORITY_WORDS  4u

/* Settings of private interrupts, which guests seldom change. */
struct private_settings {
    uint32_t edges;                              /* GICR_ICFGR1 */
    uint64_t priorities[PRIVATE_PRIORITY_WORDS]; /* GICR_IPRIORITYR<n>, two registers in a word */
};

/* The saved state. */
struct saved_interrupts {
    uint32_t used; /* bit n: list register n was not free */
    uint64_t lists[LIST_REGISTERS_MAX];
    uint64_t list_control;                   /* ICH_HCR_EL2 */
    uint64_t machine_control;                /* ICH_VMCR_EL2 */
    uint64_t active0[ACTIVE_PRIORITY_WORDS]; /* ICH_AP0R<n>_EL2 */
    uint64_t active1[ACTIVE_PRIORITY_WORDS]; /* ICH_AP1R<n>_EL2 */
    uint32_t enabled, pending, active;       /* states of interrupts 0 to 31 */
    struct private_settings settings;
};

/* The GIC's resources of a core, read once at its start. */
struct interrupt_resources {
    struct gic_frame frame; /* frame of its SGIs and PPIs */
    uint32_t lists;         /* bit n: it has list register n */
    /* Number of preemption bits of a priority: it tells how many ICH_AP1R<n>_EL2 exist. */
    unsigned preemption_bits;
};

/* Returns the resources of the VCPU's core, which is the calling one. */
struct interrupt_resources interrupt_resources(const struct vcpu *vcpu);

/* Saves the state of the VCPU that executed last, and disables its private interrupts. The core has
 * executed a context synchronization event, such as an ISB, since it wrote to a list register last
 * (gic_registers_settle_lists()). Returns the private interrupts that are pending, enabled and
 * not active, so that they will be signalled when the state is loaded. Bit n: INTID n. */
uint32_t interrupts_save(const struct interrupt_resources *resources, struct vcpu *vcpu,
                         struct saved_interrupts *saved);

/* Loads the state of the VCPU that executes next. `last`: settings of the VCPU that executed last,
 * which the hardware has. */
void interrupts_load(const struct interrupt_resources *resources,
                     const struct saved_interrupts *saved, const struct private_settings *last);
#endif
