/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The system registers of a guest on a core that it shares: all that it can write and that the
 * hardware uses, and the EL2 registers that differ between VCPUs. Not here: the registers of the
 * interrupt controller (world_switch/interrupts.h), and FP and SIMD (world_switch/vectors.S).
 */
#ifndef WORLD_SWITCH_GUEST_REGISTERS_H
#define WORLD_SWITCH_GUEST_REGISTERS_H

#include <stdbool.h>
#include <stdint.h>

/* The registers are in pairs: two are read or written together, and their fields are loaded or
 * stored by one instruction. The translation regime of EL1 comes first: guest_registers_load()
 * stops speculative walks of it meanwhile. */
#define GUEST_TRANSLATION(pair)                                                          \
    pair(sctlr_el1, ttbr0_el1) pair(ttbr1_el1, mair_el1) pair(amair_el1, contextidr_el1) \
        pair(vttbr_el2, vmpidr_el2) pair(hcr_el2, cpacr_el1)

#define GUEST_EXCEPTIONS(pair)                                                                    \
    pair(vbar_el1, sp_el0) pair(sp_el1, elr_el1) pair(spsr_el1, esr_el1) pair(far_el1, afsr0_el1) \
        pair(afsr1_el1, par_el1)

/* With the timers last: they are loaded after their values. */
#define GUEST_THREADS_AND_TIMERS(pair)                                                    \
    pair(csselr_el1, tpidr_el1) pair(tpidr_el0, tpidrro_el0) pair(mdscr_el1, cntkctl_el1) \
        pair(cntv_cval_el0, cntp_cval_el0) pair(cntv_ctl_el0, cntp_ctl_el0)

#define GUEST_REGISTER_FIELDS(first, second) uint64_t first, second;

struct guest_registers {
    uint64_t tcr_el1;
    GUEST_TRANSLATION(GUEST_REGISTER_FIELDS)
    GUEST_EXCEPTIONS(GUEST_REGISTER_FIELDS)
    GUEST_THREADS_AND_TIMERS(GUEST_REGISTER_FIELDS)
    uint64_t pointer_keys[10]; /* FEAT_PAuth */
};

/* Saves the registers of the guest that executed last, and stops its timers. */
void guest_registers_save(struct guest_registers *registers, bool has_pointer_keys);

/* Loads the registers of the guest that executes next. */
void guest_registers_load(const struct guest_registers *registers, bool has_pointer_keys);

/* Returns CNTPCT_EL0 at which the first timer of the guest expires whose interrupt is enabled, or
 * UINT64_MAX. `enabled`: GICR_ISENABLER0. */
uint64_t guest_registers_expiry(const struct guest_registers *registers, uint32_t enabled);

#endif
