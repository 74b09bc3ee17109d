/* SPDX-License-Identifier: BSD-2-Clause */
#include "monitor/guest_state.h"
#include "monitor/registers.h"

/* Fields of ID registers: 0 is "not there". */
#define FIELD(value, shift) ((value) >> (shift) & 0xf)

#define CNTHCTL_EL1_ALL 0x3    /* EL1PCTEN, EL1PCEN */
#define CPTR_NO_TRAPS   0x33ff /* RES1 alone: no SVE, no trace */

static void rule_performance_counters(void)
{
    uint64_t version = FIELD(register_read(id_aa64dfr0_el1), 8); /* 0 none, 15 not architectural */
    uint64_t counters = version == 0 || version == 15 ? 0 : register_read(pmcr_el0) >> 11 & 0x1f;

    register_write(mdcr_el2, counters); /* HPMN: all of them are the guest's */
}

void guest_state_rule(uint64_t stage2, uint32_t vmid)
{
    uint64_t physical = register_read(id_aa64mmfr0_el1) & 0xf;

    physical = physical < PHYSICAL_48_BITS ? physical : PHYSICAL_48_BITS;
    register_write(hcr_el2, HCR_GUEST);
    register_write(vtcr_el2, VTCR_BASE | physical << VTCR_PS_SHIFT);
    register_write(vttbr_el2, stage2 | (uint64_t)vmid << VTTBR_VMID_SHIFT);
    register_write(vpidr_el2, register_read(midr_el1));
    register_write(vmpidr_el2, register_read(mpidr_el1));
    register_write(cnthctl_el2, CNTHCTL_EL1_ALL);
    register_write(cntvoff_el2, 0);
    register_write(cptr_el2, CPTR_NO_TRAPS);
    register_write(hstr_el2, 0);
    rule_performance_counters();
    if (FIELD(register_read(id_aa64mmfr0_el1), 56) != 0) { /* FEAT_FGT */
        register_write(s3_4_c1_c1_4, 0);                   /* HFGRTR_EL2, HFGWTR, HFGITR, HDFG* */
        register_write(s3_4_c1_c1_5, 0);
        register_write(s3_4_c1_c1_6, 0);
        register_write(s3_4_c3_c1_4, 0);
        register_write(s3_4_c3_c1_5, 0);
    }
    if (FIELD(register_read(id_aa64mmfr1_el1), 40) != 0) { /* FEAT_HCX */
        register_write(s3_4_c1_c2_2, 0);
    }
    __asm__ volatile("dsb ishst\n\tisb\n\ttlbi vmalls12e1\n\tdsb nsh\n\tisb" : : : "memory");
}

void guest_state_reset(void)
{
    register_write(sctlr_el1, SCTLR_EL1_OFF);
    register_write(cntv_ctl_el0, 0);
    register_write(cntp_ctl_el0, 0);
    register_write(cntkctl_el1, 0);
    register_write(cpacr_el1, 0);
    register_write(ttbr0_el1, 0);
    register_write(ttbr1_el1, 0);
    register_write(tcr_el1, 0);
    register_write(mair_el1, 0);
    register_write(vbar_el1, 0);
    register_write(contextidr_el1, 0);
    register_write(tpidr_el1, 0);
    register_write(tpidr_el0, 0);
    register_write(tpidrro_el0, 0);
    register_write(sp_el0, 0);
    register_write(sp_el1, 0);
    register_write(elr_el1, 0);
    register_write(spsr_el1, 0);
    register_write(esr_el1, 0);
    register_write(far_el1, 0);
    register_write(par_el1, 0);
    register_write(mdscr_el1, 0);
    __asm__ volatile("isb\n\ttlbi vmalls12e1\n\tic iallu\n\tdsb nsh\n\tisb" : : : "memory");
}
