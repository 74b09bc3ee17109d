/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The interrupts of a VCPU that does not execute. Its list registers, and the state of its SGIs and
 * PPIs in the Redistributor, are saved: other VCPUs use the same ones. The state of SPIs stays in
 * the Distributor. An SPI that comes meanwhile stays active there, so that it comes once, and is
 * made pending again when the VCPU executes.
 */
#ifndef WORLD_SWITCH_INTERRUPTS_H
#define WORLD_SWITCH_INTERRUPTS_H

#include "gic/internal.h"
#include "hypervisor/vcpu.h"
#include <stdbool.h>
#include <stdint.h>

#define PRIVATE_PRIORITY_WORDS 4u /* of 64 bits */
#define ACTIVE_PRIORITY_WORDS  4u

/* What guests seldom change. */
struct private_settings {
    uint32_t edges;                              /* GICR_ICFGR1 */
    uint64_t priorities[PRIVATE_PRIORITY_WORDS]; /* GICR_IPRIORITYR, two registers each */
};

struct saved_interrupts {
    uint32_t used; /* one bit each: list registers that are not free */
    uint64_t lists[LIST_REGISTERS_MAX];
    uint64_t list_control;                   /* ICH_HCR_EL2 */
    uint64_t machine_control;                /* ICH_VMCR_EL2 */
    uint64_t active0[ACTIVE_PRIORITY_WORDS]; /* ICH_AP0R<n>_EL2 */
    uint64_t active1[ACTIVE_PRIORITY_WORDS]; /* ICH_AP1R<n>_EL2 */
    uint32_t enabled, pending, active;       /* of interrupts 0 to 31 */
    struct private_settings settings;
};

/* What a core has, found once. */
struct interrupt_resources {
    struct gic_frame frame;   /* of its SGIs and PPIs */
    uint32_t lists;           /* one bit each: its list registers */
    unsigned preemption_bits; /* of a priority: how many words of active priorities there are */
};

struct interrupt_resources interrupt_resources(const struct vcpu *vcpu);

/* Saves the state of the VCPU that executed last, and disables its private interrupts. Returns true
 * if one of them will be signalled once the state is loaded. */
bool interrupts_save(const struct interrupt_resources *resources, struct vcpu *vcpu,
                     struct saved_interrupts *saved);

/* Loads the state of the VCPU that executes next. `last`: the settings of the one that executed
 * last. */
void interrupts_load(const struct interrupt_resources *resources,
                     const struct saved_interrupts *saved, const struct private_settings *last);
#endif
