/* SPDX-License-Identifier: BSD-2-Clause */
#include "world_switch/debug.h"

#include "entry/syndrome.h"
#include "hypervisor/registers.h"
#include "vcpu/controls.h"
#include "vcpu/features.h"

/* MDE and SS enable debug exceptions of breakpoints and watchpoints, and of single steps (Arm ARM,
 * MDSCR_EL1). */
#define MDSCR_EXCEPTIONS (UINT64_C(1) << 15 | UINT64_C(1))

/* Fields of PMCR_EL0 (Arm ARM). */
#define PMCR_ENABLE   UINT64_C(1)
#define PMCR_WRITABLE UINT64_C(0xf9) /* all but P and C, which reset the counters */
#define PMCR_N_SHIFT  11
#define PMCR_N_MASK   0x1fu
#define COUNTERS_ALL  UINT32_MAX

#define REGISTER_OP0(name) ((name) >> 20 & 3u)
#define REGISTER_CRM(name) ((name) >> 1 & 0xfu)

struct debug_resources debug_resources(void)
{
    uint64_t dfr0 = id_register_read(ID_AA64DFR0_EL1);
    unsigned pmu = ID_FIELD(dfr0, DFR0_PMUVER);
    struct debug_resources resources = {
        .breakpoints = (uint8_t)(ID_FIELD(dfr0, DFR0_BRPS) + 1),
        .watchpoints = (uint8_t)(ID_FIELD(dfr0, DFR0_WRPS) + 1),
        .has_pmu = pmu != 0 && pmu != ID_PMU_IMPLEMENTATION_DEFINED,
    };

    if (resources.has_pmu) {
        resources.counters = (uint8_t)(register_read(pmcr_el0) >> PMCR_N_SHIFT & PMCR_N_MASK);
    }
    return resources;
}

bool debug_has_effect(const struct debug_resources *resources)
{
    return (register_read(mdscr_el1) & MDSCR_EXCEPTIONS) != 0 ||
           (resources->has_pmu && (register_read(pmcr_el0) & PMCR_ENABLE) != 0);
}

static void save_performance_monitors(const struct debug_resources *resources,
                                      struct debug_registers *registers)
{
    registers->control = register_read(pmcr_el0) & PMCR_WRITABLE;
    register_write(pmcr_el0, registers->control & ~PMCR_ENABLE);
    instruction_barrier();
    registers->enabled = register_read(pmcntenset_el0);
    registers->interrupts = register_read(pmintenset_el1);
    registers->overflows = register_read(pmovsset_el0);
    registers->user = register_read(pmuserenr_el0);
    registers->selected = register_read(pmselr_el0);
    registers->cycles = register_read(pmccntr_el0);
    registers->cycle_filter = register_read(pmccfiltr_el0);
    for (unsigned counter = 0; counter < resources->counters; counter++) {
        register_write(pmselr_el0, counter);
        instruction_barrier();
        registers->counts[counter] = register_read(pmxevcntr_el0);
        registers->events[counter] = register_read(pmxevtyper_el0);
    }
    register_write(pmintenclr_el1, COUNTERS_ALL); /* an overflow must not interrupt the next VCPU */
}

static void load_performance_monitors(const struct debug_resources *resources,
                                      const struct debug_registers *registers)
{
    register_write(pmcntenclr_el0, COUNTERS_ALL);
    register_write(pmintenclr_el1, COUNTERS_ALL);
    register_write(pmovsclr_el0, COUNTERS_ALL);
    for (unsigned counter = 0; counter < resources->counters; counter++) {
        register_write(pmselr_el0, counter);
        instruction_barrier();
        register_write(pmxevcntr_el0, registers->counts[counter]);
        register_write(pmxevtyper_el0, registers->events[counter]);
    }
    register_write(pmselr_el0, registers->selected);
    register_write(pmuserenr_el0, registers->user);
    register_write(pmccntr_el0, registers->cycles);
    register_write(pmccfiltr_el0, registers->cycle_filter);
    register_write(pmovsset_el0, registers->overflows);
    register_write(pmintenset_el1, registers->interrupts);
    register_write(pmcntenset_el0, registers->enabled);
    register_write(pmcr_el0, registers->control);
}

void debug_save(const struct debug_resources *resources, struct debug_registers *registers)
{
    debug_save_breakpoints(registers->breakpoints, resources->breakpoints);
    debug_save_watchpoints(registers->watchpoints, resources->watchpoints);
    registers->claims = register_read(dbgclaimclr_el1);
    registers->communication = register_read(mdccint_el1);
    if (resources->has_pmu) {
        save_performance_monitors(resources, registers);
    }
}

void debug_load(const struct debug_resources *resources, const struct debug_registers *registers)
{
    debug_load_breakpoints(registers->breakpoints, resources->breakpoints);
    debug_load_watchpoints(registers->watchpoints, resources->watchpoints);
    register_write(dbgclaimclr_el1, DBGCLAIM_ALL);
    register_write(dbgclaimset_el1, registers->claims);
    register_write(mdccint_el1, registers->communication);
    /* Debug Communications Channel registers are not saved, because guests have no external
     * debugger. */
    register_write(osdtrrx_el1, 0);
    register_write(osdtrtx_el1, 0);
    if (resources->has_pmu) {
        load_performance_monitors(resources, registers);
    }
    instruction_barrier();
}

void debug_trap(bool trap)
{
    uint64_t control = register_read(mdcr_el2) & ~(MDCR_TDA | MDCR_TPM);

    register_write(mdcr_el2, trap ? control | MDCR_TDA | MDCR_TPM : control);
    instruction_barrier();
}

bool debug_is_trapped(unsigned name)
{
    unsigned crn = REGISTER_CRN(name), crm = REGISTER_CRM(name);

    if (REGISTER_OP0(name) == 2) {
        return crn != 1; /* registers with CRn 1, such as the OS lock, are trapped for all guests */
    }
    return REGISTER_OP0(name) == 3 && ((crn == 9 && crm >= 12) || (crn == 14 && crm >= 8));
}
