/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Counts instructions with the first event counter of the performance monitors (Arm ARM, chapter
 * "The Performance Monitors Extension").
 */
#include <arch/instructions.h>

#define EVENT_INST_RETIRED 0x08u

static bool counting;

/* Returns true if the processor has performance monitors. ID_AA64DFR0_EL1.PMUVer is 0 if it has
 * none, and 15 if they are not the architecture's. */
static bool has_monitors(void)
{
    uint64_t features;
    unsigned version;

    __asm__("mrs %0, id_aa64dfr0_el1" : "=r"(features));
    version = (unsigned)(features >> 8) & 0xFu;
    return version != 0 && version != 0xFu;
}

/* Returns true if EL2 leaves a counter to EL1 (PMCR_EL0.N), and if it can count the event
 * (PMCEID0_EL0: implemented common events). */
static bool has_event(void)
{
    uint64_t control;
    uint64_t events;

    __asm__ volatile("mrs %0, pmcr_el0\n\tmrs %1, pmceid0_el0" : "=r"(control), "=r"(events));
    return (control >> 11 & 0x1Fu) != 0 && (events >> EVENT_INST_RETIRED & 1u) != 0;
}

bool arch_instructions_start(void)
{
    uint64_t control;

    if (counting || !has_monitors() || !has_event()) {
        return counting;
    }
    /* PMEVTYPER0_EL0 has no filter: it counts at EL0 and EL1, not at EL2. */
    __asm__ volatile("msr pmevtyper0_el0, %0\n\tmsr pmevcntr0_el0, xzr\n\tmsr pmcntenset_el0, %1"
                     :
                     : "r"((uint64_t)EVENT_INST_RETIRED), "r"(UINT64_C(1)));
    __asm__ volatile("mrs %0, pmcr_el0" : "=r"(control));
    __asm__ volatile("msr pmcr_el0, %0\n\tisb" : : "r"(control | 1u)); /* PMCR_EL0.E */
    counting = true;
    return true;
}

uint32_t arch_instructions(void)
{
    uint64_t count = 0;

    if (counting) {
        /* After the ISB, earlier instructions have retired. */
        __asm__ volatile("isb\n\tmrs %0, pmevcntr0_el0" : "=r"(count) : : "memory");
    }
    return (uint32_t)count;
}
