/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Breakpoints, watchpoints and performance monitors of a VCPU on a shared core. Few guests use
 * them, so they change their owner late: a guest that does not own them has its accesses trapped
 * (MDCR_EL2.TDA and TPM), and gets them then. The exception are registers that have an effect
 * without an access, because debug exceptions or the counters are enabled: those change with the
 * VCPU. MDSCR_EL1 always does (world_switch/guest_registers.h).
 */
#ifndef WORLD_SWITCH_DEBUG_H
#define WORLD_SWITCH_DEBUG_H

#include <stdbool.h>
#include <stdint.h>

#define DEBUG_PAIRS_MAX    16u /* breakpoints, and watchpoints */
#define DEBUG_COUNTERS_MAX 31u /* of events */

/* The numbers of registers that the core has. */
struct debug_resources {
    uint8_t breakpoints, watchpoints, counters;
    bool has_pmu;
};

struct debug_registers {
    uint64_t breakpoints[2 * DEBUG_PAIRS_MAX]; /* value, control */
    uint64_t watchpoints[2 * DEBUG_PAIRS_MAX];
    uint64_t claims, communication; /* DBGCLAIMSET_EL1, MDCCINT_EL1 */
    uint64_t control, enabled, interrupts, overflows, user, selected; /* PMCR_EL0 ... PMSELR_EL0 */
    uint64_t cycles, cycle_filter;
    uint64_t counts[DEBUG_COUNTERS_MAX], events[DEBUG_COUNTERS_MAX];
    bool has_effect; /* saved while debug exceptions or counters were enabled */
};

struct debug_resources debug_resources(void);

/* Returns true if the core's registers have an effect without an access. */
bool debug_has_effect(const struct debug_resources *resources);

/* Saves the core's registers; the counters stop. */
void debug_save(const struct debug_resources *resources, struct debug_registers *registers);
void debug_load(const struct debug_resources *resources, const struct debug_registers *registers);

/* Traps the guest's accesses to these registers, or does not. */
void debug_trap(bool trap);

/* Returns true if debug_trap() traps the register with this name (entry/syndrome.h). */
bool debug_is_trapped(unsigned name);

/* debug_registers.S: breakpoints or watchpoints 0 to `count` - 1. */
void debug_save_breakpoints(uint64_t *pairs, uint64_t count);
void debug_load_breakpoints(const uint64_t *pairs, uint64_t count);
void debug_save_watchpoints(uint64_t *pairs, uint64_t count);
void debug_load_watchpoints(const uint64_t *pairs, uint64_t count);

#endif
