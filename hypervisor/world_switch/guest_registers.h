/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * System registers of a guest on a shared core: all that the guest can write and that the hardware
 * uses, and the EL2 registers that differ between VCPUs. The registers of the interrupt controller
 * are in world_switch/interrupts.h, those of FP and SIMD in world_switch/vectors.h.
 */
#ifndef WORLD_SWITCH_GUEST_REGISTERS_H
#define WORLD_SWITCH_GUEST_REGISTERS_H

#include <stdbool.h>
#include <stdint.h>

/* The registers are in pairs: two are read or written together, and one instruction loads or stores
 * their fields. The registers of EL1's translation regime come first. guest_registers_load() loads
 * them while speculative walks are disabled. */
#define GUEST_TRANSLATION(pair)                                                          \
    pair(sctlr_el1, ttbr0_el1) pair(ttbr1_el1, mair_el1) pair(amair_el1, contextidr_el1) \
        pair(vttbr_el2, vmpidr_el2) pair(hcr_el2, cpacr_el1)

#define GUEST_EXCEPTIONS(pair)                                                                    \
    pair(vbar_el1, sp_el0) pair(sp_el1, elr_el1) pair(spsr_el1, esr_el1) pair(far_el1, afsr0_el1) \
        pair(afsr1_el1, par_el1)

/* The control registers of the timers come last, because they are loaded after the compare
 * values. */
#define GUEST_THREADS_AND_TIMERS(pair)                                                    \
    pair(csselr_el1, tpidr_el1) pair(tpidr_el0, tpidrro_el0) pair(mdscr_el1, cntkctl_el1) \
        pair(cntv_cval_el0, cntp_cval_el0) pair(cntv_ctl_el0, cntp_ctl_el0)

#define GUEST_REGISTER_FIELDS(first, second) uint64_t first, second;

struct guest_registers {
    uint64_t tcr_el1;
    GUEST_TRANSLATION(GUEST_REGISTER_FIELDS)
    GUEST_EXCEPTIONS(GUEST_REGISTER_FIELDS)
    GUEST_THREADS_AND_TIMERS(GUEST_REGISTER_FIELDS)
    uint64_t pointer_keys[10]; /* keys of pointer authentication (FEAT_PAuth) */
};

/* Saves the registers of the guest that executed last, stops its timers, and disables table walks
 * of EL1. `has_pointer_keys`: the processor has FEAT_PAuth. */
void guest_registers_save(struct guest_registers *registers, bool has_pointer_keys);

/* Loads the registers of the guest that executes next, and enables table walks of EL1 as the guest
 * has set them. */
void guest_registers_load(const struct guest_registers *registers, bool has_pointer_keys);

/* Returns the value of CNTPCT_EL0 at which the first timer of the guest expires, or UINT64_MAX.
 * Timers that mask their interrupt do not count. `counted`: the private interrupts whose timers
 * count; bit n: INTID n. */
uint64_t guest_registers_expiry(const struct guest_registers *registers, uint32_t counted);

/* Returns the value of CNTPCT_EL0 at which a timer of the guest expires, whose state is in the
 * core. `number`: INTID of an interrupt. UINT64_MAX if it is no timer's. */
uint64_t guest_registers_expiry_in_core(uint32_t number);

#endif
