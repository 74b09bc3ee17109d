/* SPDX-License-Identifier: BSD-2-Clause */
#include "vcpu/guest_state.h"
#include "gic/listed.h"
#include "hypervisor/registers.h"
#include "vcpu/clear.h"
#include "vcpu/controls.h"
#include "vcpu/features.h"
#include "vcpu/same_core.h"
#include "vcpu/undefined.h"

#define CNTHCTL_EL1PCTEN 0x1u /* the guest may read the physical counter */
#define CNTHCTL_EL1PCEN  0x2u /* the guest may use the physical timer */

#define PMCR_P       0x2u /* resets the event counters */
#define PMCR_C       0x4u /* resets the cycle counter */
#define PMCR_N_SHIFT 11
#define PMCR_N_MASK  0x1fu

static void read_features(struct features *features)
{
    unsigned pmu;

    features->pfr0 = id_register_read(ID_AA64PFR0_EL1);
    features->pfr1 = id_register_read(ID_AA64PFR1_EL1);
    features->dfr0 = id_register_read(ID_AA64DFR0_EL1);
    features->isar1 = id_register_read(ID_AA64ISAR1_EL1);
    features->isar2 = id_register_read(ID_AA64ISAR2_EL1);
    features->mmfr0 = id_register_read(ID_AA64MMFR0_EL1);
    features->mmfr1 = id_register_read(ID_AA64MMFR1_EL1);
    features->counters = 0;
    pmu = ID_FIELD(features->dfr0, DFR0_PMUVER);
    features->has_pmu = pmu != 0 && pmu != ID_PMU_IMPLEMENTATION_DEFINED;
    if (features->has_pmu) {
        features->counters = register_read(pmcr_el0) >> PMCR_N_SHIFT & PMCR_N_MASK;
    }
}

static void set_fine_grained_traps(const struct features *features, const struct controls *controls)
{
    unsigned version = ID_FIELD(features->mmfr0, MMFR0_FGT);

    if (version == 0) {
        return;
    }
    register_write(HFGRTR_EL2, controls->hfgrtr);
    register_write(HFGWTR_EL2, controls->hfgwtr);
    register_write(HFGITR_EL2, controls->hfgitr);
    register_write(HDFGRTR_EL2, controls->hdfgrtr);
    register_write(HDFGWTR_EL2, controls->hdfgwtr);
    if (ID_FIELD(features->pfr0, PFR0_AMU) != 0) {
        register_write(HAFGRTR_EL2, controls->hafgrtr);
    }
    if (version >= FGT_WITH_SECOND) { /* almost all bits of these registers trap while they are 0 */
        register_write(HFGRTR2_EL2, 0);
        register_write(HFGWTR2_EL2, 0);
        register_write(HFGITR2_EL2, 0);
        register_write(HDFGRTR2_EL2, 0);
        register_write(HDFGWTR2_EL2, 0);
    }
}

static void set_controls(const struct features *features)
{
    struct controls controls;

    features_control(features, &controls);
    register_write(hcr_el2, controls.hcr);
    register_write(cptr_el2, controls.cptr);
    register_write(mdcr_el2, controls.mdcr);
    if (ID_FIELD(features->mmfr1, MMFR1_HCX) != 0) {
        register_write(HCRX_EL2, controls.hcrx);
    }
    if (controls.mpam2 != 0) { /* the guest's accesses have PARTID 0, the default */
        register_write(MPAM1_EL1, 0);
        register_write(MPAM0_EL1, 0);
        register_write(MPAM2_EL2, controls.mpam2);
    }
    if (ID_FIELD(features->pfr0, PFR0_RAS) != 0) {
        register_write(VDISR_EL2, 0);
    }
    set_fine_grained_traps(features, &controls);
}

void guest_state_init(const struct vcpu *vcpu)
{
    uint64_t vmid = vcpu->partition->constant.index + 1;
    struct features features;
    uint64_t physical;

    read_features(&features);
    physical = ID_FIELD(features.mmfr0, MMFR0_PARANGE);
    physical = physical < PHYSICAL_48_BITS ? physical : PHYSICAL_48_BITS;
    set_controls(&features);
    if (listed_has(vcpu->partition)) {
        register_write(hcr_el2, register_read(hcr_el2) | HCR_IMO);
    }
    if (vcpu_shares_core(vcpu)) {
        register_write(hcr_el2, register_read(hcr_el2) | HCR_TWI);
    }
    register_write(vtcr_el2, VTCR_BASE | physical << VTCR_PS_SHIFT);
    register_write(vttbr_el2, vcpu->stage2 | vmid << VTTBR_VMID_SHIFT);
    register_write(vpidr_el2, register_read(midr_el1));
    register_write(vmpidr_el2, MPIDR_RES1 | vcpu->number);
    register_write(cnthctl_el2, CNTHCTL_EL1PCTEN | CNTHCTL_EL1PCEN);
    register_write(cntvoff_el2, 0);
    register_write(hstr_el2, 0);
    /* Unlocks the OS lock, which is locked after a reset and blocks debug exceptions then, and the
     * OS double lock. A guest can't access these locks. */
    register_write(oslar_el1, 0);
    register_write(osdlr_el1, 0);
    __asm__ volatile("dsb ishst\n\tisb\n\ttlbi vmalls12e1\n\tdsb nsh\n\tisb" : : : "memory");
}

bool guest_state_trap_broadcasts(void)
{
    if (ID_FIELD(register_read(id_aa64mmfr2_el1), MMFR2_EVT) < EVT_WITH_TLB) {
        return false;
    }
    register_write(hcr_el2, register_read(hcr_el2) | HCR_LOCAL_MAINTENANCE);
    return true;
}

static void reset_translation(void)
{
    register_write(sctlr_el1, SCTLR_EL1_OFF);
    register_write(ttbr0_el1, 0);
    register_write(ttbr1_el1, 0);
    register_write(tcr_el1, 0);
    register_write(mair_el1, 0);
    register_write(amair_el1, 0);
    register_write(contextidr_el1, 0);
    register_write(par_el1, 0);
    register_write(csselr_el1, 0);
}

static void reset_exceptions(void)
{
    register_write(cpacr_el1, 0);
    register_write(vbar_el1, 0);
    register_write(sp_el0, 0);
    register_write(sp_el1, 0);
    register_write(elr_el1, 0);
    register_write(spsr_el1, 0);
    register_write(esr_el1, 0);
    register_write(far_el1, 0);
    register_write(afsr0_el1, 0);
    register_write(afsr1_el1, 0);
    register_write(tpidr_el1, 0);
    register_write(tpidr_el0, 0);
    register_write(tpidrro_el0, 0);
    /* Registers of AArch32 modes, which no guest can enter. */
    register_write(spsr_abt, 0);
    register_write(spsr_und, 0);
    register_write(spsr_irq, 0);
    register_write(spsr_fiq, 0);
}

static void reset_timers(void)
{
    register_write(cntkctl_el1, 0);
    register_write(cntv_ctl_el0, 0);
    register_write(cntp_ctl_el0, 0);
    register_write(cntv_cval_el0, 0);
    register_write(cntp_cval_el0, 0);
}

static void reset_pointer_authentication(const struct features *features)
{
    if (!features_have_pointer_authentication(features)) {
        return;
    }
    register_write(APIAKEYLO_EL1, 0);
    register_write(APIAKEYHI_EL1, 0);
    register_write(APIBKEYLO_EL1, 0);
    register_write(APIBKEYHI_EL1, 0);
    register_write(APDAKEYLO_EL1, 0);
    register_write(APDAKEYHI_EL1, 0);
    register_write(APDBKEYLO_EL1, 0);
    register_write(APDBKEYHI_EL1, 0);
    register_write(APGAKEYLO_EL1, 0);
    register_write(APGAKEYHI_EL1, 0);
}

static void reset_debug(const struct features *features)
{
    register_write(mdscr_el1, 0);
    clear_breakpoints(ID_FIELD(features->dfr0, DFR0_BRPS) + 1);
    clear_watchpoints(ID_FIELD(features->dfr0, DFR0_WRPS) + 1);
    register_write(dbgclaimclr_el1, DBGCLAIM_ALL);
    register_write(mdccint_el1, 0);
    register_write(osdtrrx_el1, 0);
    register_write(osdtrtx_el1, 0);
}

static void reset_performance_monitors(const struct features *features)
{
    if (!features->has_pmu) {
        return;
    }
    register_write(pmcntenclr_el0, UINT32_MAX);
    register_write(pmintenclr_el1, UINT32_MAX);
    register_write(pmuserenr_el0, 0);
    for (unsigned counter = 0; counter < features->counters; counter++) {
        register_write(pmselr_el0, counter);
        instruction_barrier();
        register_write(pmxevtyper_el0, 0);
        register_write(pmxevcntr_el0, 0);
    }
    register_write(pmselr_el0, 0);
    register_write(pmccfiltr_el0, 0);
    register_write(pmcr_el0, PMCR_P | PMCR_C);
    instruction_barrier();
    register_write(pmovsclr_el0, UINT32_MAX);
}

void guest_state_reset(void)
{
    struct features features;

    read_features(&features);
    reset_translation();
    reset_exceptions();
    reset_timers();
    reset_pointer_authentication(&features);
    reset_debug(&features);
    reset_performance_monitors(&features);
    clear_vectors();
    __asm__ volatile("isb\n\ttlbi vmalls12e1\n\tic iallu\n\tdsb nsh\n\tisb" : : : "memory");
}

void guest_state_exception(struct registers *registers, uint64_t syndrome)
{
    struct exception_context context = {
        .control = register_read(sctlr_el1),
        .has_pan = ID_FIELD(id_register_read(ID_AA64MMFR1_EL1), MMFR1_PAN) != 0,
        .has_ssbs = ID_FIELD(id_register_read(ID_AA64PFR1_EL1), PFR1_SSBS) != 0,
        .has_allocation_tags =
            ID_FIELD(id_register_read(ID_AA64PFR1_EL1), PFR1_MTE) >= MTE_WITH_MEMORY,
    };

    register_write(esr_el1, syndrome);
    register_write(elr_el1, registers->pc);
    register_write(spsr_el1, registers->state);
    registers->pc = register_read(vbar_el1) + exception_offset(registers->state);
    registers->state = exception_state(registers->state, &context);
}

void guest_state_undefined(struct registers *registers)
{
    guest_state_exception(registers, UNDEFINED_SYNDROME);
}
