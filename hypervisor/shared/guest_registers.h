/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The system registers of a guest on a core that it shares: all that it can write and that the
 * hardware uses, and the EL2 registers that differ between VCPUs. Not here: the registers of the
 * interrupt controller (shared/interrupts.h), and FP and SIMD (shared/vectors.S).
 */
#ifndef SHARED_GUEST_REGISTERS_H
#define SHARED_GUEST_REGISTERS_H

#include <stdbool.h>
#include <stdint.h>

/* The translation regime of EL1 comes first: guest_registers_load() stops speculative walks of it
 * meanwhile. */
#define GUEST_TRANSLATION(each)                                                    \
    each(sctlr_el1) each(ttbr0_el1) each(ttbr1_el1) each(mair_el1) each(amair_el1) \
        each(contextidr_el1) each(vttbr_el2) each(vmpidr_el2) each(hcr_el2)

#define GUEST_EXCEPTIONS(each)                                                            \
    each(cpacr_el1) each(vbar_el1) each(sp_el0) each(sp_el1) each(elr_el1) each(spsr_el1) \
        each(esr_el1) each(far_el1) each(afsr0_el1) each(afsr1_el1) each(par_el1)

/* With the timers last: they are loaded after their values. */
#define GUEST_THREADS_AND_TIMERS(each)                                                 \
    each(csselr_el1) each(tpidr_el1) each(tpidr_el0) each(tpidrro_el0) each(mdscr_el1) \
        each(cntkctl_el1) each(cntv_cval_el0) each(cntp_cval_el0) each(cntv_ctl_el0)   \
            each(cntp_ctl_el0)

#define GUEST_REGISTER_FIELD(name) uint64_t name;

struct guest_registers {
    uint64_t tcr_el1;
    GUEST_TRANSLATION(GUEST_REGISTER_FIELD)
    GUEST_EXCEPTIONS(GUEST_REGISTER_FIELD)
    GUEST_THREADS_AND_TIMERS(GUEST_REGISTER_FIELD)
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
