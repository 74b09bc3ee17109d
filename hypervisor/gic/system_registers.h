/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * This core's CPU interface, from EL2 (IHI 0069, chapter 12, "AArch64 System register
 * descriptions"). With HCR_EL2.FMO set and IMO clear, a guest accesses the physical registers of
 * Group 1, and virtual ones in place of those of Group 0 and of both groups (PMR, CTLR, RPR, DIR).
 */
#ifndef HYPERVISOR_GIC_SYSTEM_REGISTERS_H
#define HYPERVISOR_GIC_SYSTEM_REGISTERS_H

#include "gic/cpu_interface.h"

#define ICC_IAR0_EL1    "S3_0_C12_C8_0"
#define ICC_EOIR0_EL1   "S3_0_C12_C8_1"
#define ICC_BPR0_EL1    "S3_0_C12_C8_3"
#define ICC_AP1R0_EL1   "S3_0_C12_C9_0"
#define ICC_AP1R1_EL1   "S3_0_C12_C9_1"
#define ICC_AP1R2_EL1   "S3_0_C12_C9_2"
#define ICC_AP1R3_EL1   "S3_0_C12_C9_3"
#define ICC_SGI1R_EL1   "S3_0_C12_C11_5"
#define ICC_SGI0R_EL1   "S3_0_C12_C11_7"
#define ICC_IGRPEN0_EL1 "S3_0_C12_C12_6"
#define ICC_SRE_EL2     "S3_4_C12_C9_5"
#define ICH_HCR_EL2     "S3_4_C12_C11_0"
#define ICH_VMCR_EL2    "S3_4_C12_C11_7"

/* SRE; no bypass of IRQ and FIQ around the GIC; EL1 may access its own ICC_SRE_EL1. */
#define ICC_SRE_ALL         UINT64_C(0xf)
#define ICC_CTLR_PRIORITIES (UINT64_C(7) << 8) /* PRIbits - 1 */

#define GIC_REGISTER_READ(name)                                       \
    __extension__({                                                   \
        uint64_t read_;                                               \
        __asm__ volatile("mrs %0, " name : "=r"(read_) : : "memory"); \
        read_;                                                        \
    })
#define GIC_REGISTER_WRITE(name, value) \
    __asm__ volatile("msr " name ", %0" : : "r"((uint64_t)(value)) : "memory")

/* Resets the registers that a guest may have written: nothing is active, and Group 1 is
 * disabled. */
static inline void gic_registers_reset(void)
{
    uint64_t priorities = GIC_REGISTER_READ(ICC_CTLR_EL1) & ICC_CTLR_PRIORITIES;

    GIC_REGISTER_WRITE(ICC_IGRPEN1_EL1, 0);
    GIC_REGISTER_WRITE(ICC_BPR1_EL1, 0);
    GIC_REGISTER_WRITE(ICC_AP1R0_EL1, 0);
    /* IHI 0069, ICC_AP1R<n>_EL1: n = 1 exists with 6 bits of preemption or more, n = 2 and 3 with
     * 7. */
    if (priorities >= UINT64_C(5) << 8) {
        GIC_REGISTER_WRITE(ICC_AP1R1_EL1, 0);
    }
    if (priorities >= UINT64_C(6) << 8) {
        GIC_REGISTER_WRITE(ICC_AP1R2_EL1, 0);
        GIC_REGISTER_WRITE(ICC_AP1R3_EL1, 0);
    }
    GIC_REGISTER_WRITE(ICH_VMCR_EL2, 0);
    __asm__ volatile("isb" : : : "memory");
}

/* Hides the active priorities of Group 1 that block Group 0: those that ICC_AP1R0_EL1 has. Returns
 * its value. IHI 0069, ICC_AP1R<n>_EL1: only 0 and the value that was read last may be written. */
static inline uint64_t gic_registers_hide_active(void)
{
    uint64_t active = GIC_REGISTER_READ(ICC_AP1R0_EL1);

    GIC_REGISTER_WRITE(ICC_AP1R0_EL1, 0);
    __asm__ volatile("isb" : : : "memory");
    return active;
}

static inline void gic_registers_restore_active(uint64_t active)
{
    GIC_REGISTER_WRITE(ICC_AP1R0_EL1, active);
    __asm__ volatile("isb" : : : "memory");
}

/* Enables Group 0 with every priority, one write to end an interrupt (EOImode 0) and no virtual
 * interrupts. Returns false if the core keeps the memory-mapped interface of GICv2. */
static inline bool gic_registers_start(void)
{
    GIC_REGISTER_WRITE(ICC_SRE_EL2, ICC_SRE_ALL);
    /* The other ICC registers can be used after the context synchronization. */
    __asm__ volatile("isb" : : : "memory");
    if ((GIC_REGISTER_READ(ICC_SRE_EL2) & ICC_SRE_SYSTEM_REGISTERS) == 0 ||
        !gic_cpu_use_system_registers()) {
        return false;
    }
    GIC_REGISTER_WRITE(ICH_HCR_EL2, 0);
    GIC_REGISTER_WRITE(ICC_CTLR_EL1, 0);
    GIC_REGISTER_WRITE(ICC_BPR0_EL1, 0);
    GIC_REGISTER_WRITE(ICC_PMR_EL1, 0xff);
    GIC_REGISTER_WRITE(ICC_IGRPEN1_EL1, 0);
    GIC_REGISTER_WRITE(ICC_IGRPEN0_EL1, 1);
    __asm__ volatile("isb" : : : "memory");
    return true;
}

static inline uint32_t gic_registers_acknowledge_group0(void)
{
    uint32_t number = (uint32_t)GIC_REGISTER_READ(ICC_IAR0_EL1) & 0xffffff;

    /* The DSB has the same reason as in gic_cpu_acknowledge(). */
    __asm__ volatile("dsb sy" : : : "memory");
    return number;
}

static inline void gic_registers_end_group0(uint32_t number)
{
    GIC_REGISTER_WRITE(ICC_EOIR0_EL1, number);
    __asm__ volatile("isb" : : : "memory");
}

static inline void gic_registers_send_group0(uint64_t value)
{
    GIC_REGISTER_WRITE(ICC_SGI0R_EL1, value);
    __asm__ volatile("isb" : : : "memory");
}

static inline void gic_registers_send_group1(uint64_t value)
{
    GIC_REGISTER_WRITE(ICC_SGI1R_EL1, value);
    __asm__ volatile("isb" : : : "memory");
}

#endif
