/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The GIC's CPU interface: system registers of this core (IHI 0069, chapter 12, "AArch64 System
 * register descriptions"). The names here stand for encodings, which every assembler accepts.
 */
#ifndef ARCH_GIC_CPU_INTERFACE_H
#define ARCH_GIC_CPU_INTERFACE_H

#include <stdbool.h>
#include <stdint.h>

#define ICC_PMR_EL1     "S3_0_C4_C6_0"
#define ICC_IAR1_EL1    "S3_0_C12_C12_0"
#define ICC_EOIR1_EL1   "S3_0_C12_C12_1"
#define ICC_BPR1_EL1    "S3_0_C12_C12_3"
#define ICC_CTLR_EL1    "S3_0_C12_C12_4"
#define ICC_SRE_EL1     "S3_0_C12_C12_5"
#define ICC_IGRPEN1_EL1 "S3_0_C12_C12_7"

#define ICC_SRE_SYSTEM_REGISTERS (UINT64_C(1) << 0)
#define ICC_CTLR_EOI_MODE        (UINT64_C(1) << 1)

/* Enables the system registers. Returns false if the core keeps the memory-mapped interface of
 * GICv2. */
static inline bool gic_cpu_use_system_registers(void)
{
    uint64_t enable;

    __asm__ volatile("mrs %0, " ICC_SRE_EL1 : "=r"(enable));
    enable |= ICC_SRE_SYSTEM_REGISTERS;
    /* The other ICC registers can be used after the context synchronization. */
    __asm__ volatile("msr " ICC_SRE_EL1 ", %0\n\tisb" : : "r"(enable) : "memory");
    __asm__ volatile("mrs %0, " ICC_SRE_EL1 : "=r"(enable));
    return (enable & ICC_SRE_SYSTEM_REGISTERS) != 0;
}

/* Enables Group 1 interrupts that are more urgent than `priority_mask`. No interrupt preempts
 * another. One write both drops the priority and deactivates the interrupt (EOImode 0). */
static inline void gic_cpu_start(uint8_t priority_mask)
{
    uint64_t control;

    __asm__ volatile("msr " ICC_PMR_EL1 ", %0" : : "r"((uint64_t)priority_mask) : "memory");
    __asm__ volatile("msr " ICC_BPR1_EL1 ", %0" : : "r"(UINT64_C(0)) : "memory");
    __asm__ volatile("mrs %0, " ICC_CTLR_EL1 : "=r"(control));
    control &= ~ICC_CTLR_EOI_MODE;
    __asm__ volatile("msr " ICC_CTLR_EL1 ", %0" : : "r"(control) : "memory");
    __asm__ volatile("msr " ICC_IGRPEN1_EL1 ", %0\n\tisb" : : "r"(UINT64_C(1)) : "memory");
}

/* Signals only interrupts that are more urgent than `priority_mask`. The write takes effect before
 * later instructions (IHI 0069, "ICC_PMR_EL1": it is self-synchronizing). */
static inline void gic_cpu_set_priority_mask(uint8_t priority_mask)
{
    __asm__ volatile("msr " ICC_PMR_EL1 ", %0" : : "r"((uint64_t)priority_mask) : "memory");
}

static inline uint32_t gic_cpu_acknowledge(void)
{
    uint64_t number;

    /* The DSB makes the acknowledgement visible to the Redistributor before the handler accesses
     * its device, so that a later edge of the device makes the interrupt pending again (IHI 0069,
     * "Observability of the effects of accesses to the GIC registers"). */
    __asm__ volatile("mrs %0, " ICC_IAR1_EL1 "\n\tdsb sy" : "=r"(number) : : "memory");
    return (uint32_t)number & 0xFFFFFF;
}

static inline void gic_cpu_end(uint32_t number)
{
    __asm__ volatile("msr " ICC_EOIR1_EL1 ", %0\n\tisb" : : "r"((uint64_t)number) : "memory");
}

/* Returns the core's affinity in the format of GICD_IROUTER: Aff3 in bits 39:32, Aff2 to Aff0 in
 * 23:0. */
static inline uint64_t gic_cpu_affinity(void)
{
    uint64_t mpidr;

    __asm__("mrs %0, mpidr_el1" : "=r"(mpidr));
    return mpidr & UINT64_C(0xFF00FFFFFF);
}

#endif
