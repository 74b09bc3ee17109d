/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Debug registers (breakpoints, watchpoints) and performance monitors of a VCPU on a shared core.
 * Few guests use them, so they are switched late. A VCPU whose values are not in the core's
 * registers has its accesses trapped (MDCR_EL2.TDA and TPM), and its values are loaded then. While
 * debug exceptions or counters are enabled, the registers have an effect without an access, and are
 * switched with the VCPU. MDSCR_EL1 is always switched with the VCPU
 * (world_switch/guest_registers.h).
 */
#ifndef WORLD_SWITCH_DEBUG_H
#define WORLD_SWITCH_DEBUG_H

#include <stdbool.h>
#include <stdint.h>

#define DEBUG_PAIRS_MAX    16u /* most breakpoints, and most watchpoints */
#define DEBUG_COUNTERS_MAX 31u /* most event counters */

/* The numbers of registers that the core has. */
struct debug_resources {
    uint8_t breakpoints, watchpoints, counters;
    bool has_pmu;
};

/* The saved registers of a VCPU. */
struct debug_registers {
    uint64_t breakpoints[2 * DEBUG_PAIRS_MAX]; /* pairs of value and control register */
    uint64_t watchpoints[2 * DEBUG_PAIRS_MAX];
    uint64_t claims, communication; /* DBGCLAIMSET_EL1, MDCCINT_EL1 */
    /* PMCR_EL0, PMCNTENSET_EL0, PMINTENSET_EL1, PMOVSSET_EL0, PMUSERENR_EL0, PMSELR_EL0. */
    uint64_t control, enabled, interrupts, overflows, user, selected;
    uint64_t cycles, cycle_filter; /* PMCCNTR_EL0, PMCCFILTR_EL0 */
    uint64_t counts[DEBUG_COUNTERS_MAX], events[DEBUG_COUNTERS_MAX];
    bool has_effect; /* debug exceptions or counters were enabled when the registers were saved */
};

/* Returns the numbers of registers that the calling core has. */
struct debug_resources debug_resources(void);

/* Returns true if the core's registers have an effect without an access, because debug exceptions
 * or counters are enabled. */
bool debug_has_effect(const struct debug_resources *resources);

/* Saves the core's registers, and stops the counters. */
void debug_save(const struct debug_resources *resources, struct debug_registers *registers);
/* Loads the core's registers. */
void debug_load(const struct debug_resources *resources, const struct debug_registers *registers);

/* Makes the guest's accesses to these registers trap if `trap` is true, otherwise permits them. */
void debug_trap(bool trap);

/* Returns true if debug_trap() makes accesses to the register trap. `name`: entry/syndrome.h. */
bool debug_is_trapped(unsigned name);

/* debug_registers.S: save and load breakpoints or watchpoints 0 to `count` - 1, in pairs of value
 * and control register. */
void debug_save_breakpoints(uint64_t *pairs, uint64_t count);
void debug_load_breakpoints(const uint64_t *pairs, uint64_t count);
void debug_save_watchpoints(uint64_t *pairs, uint64_t count);
void debug_load_watchpoints(const uint64_t *pairs, uint64_t count);

#endif
