/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Accesses of EL2 to this core's CPU interface (IHI 0069, chapter 12, "AArch64 System register
 * descriptions"). With HCR_EL2.FMO set and IMO clear, a guest accesses the physical registers of
 * Group 1. In place of the registers of Group 0 it accesses virtual ones. Accesses to the registers
 * of both groups (PMR, CTLR, RPR, DIR) trap (gic/direct.h).
 */
#ifndef HYPERVISOR_GIC_SYSTEM_REGISTERS_H
#define HYPERVISOR_GIC_SYSTEM_REGISTERS_H

#include <arch/gic_cpu_interface.h>

#define ICC_IAR0_EL1    "S3_0_C12_C8_0"
#define ICC_EOIR0_EL1   "S3_0_C12_C8_1"
#define ICC_BPR0_EL1    "S3_0_C12_C8_3"
#define ICC_AP1R0_EL1   "S3_0_C12_C9_0"
#define ICC_AP1R1_EL1   "S3_0_C12_C9_1"
#define ICC_AP1R2_EL1   "S3_0_C12_C9_2"
#define ICC_AP1R3_EL1   "S3_0_C12_C9_3"
#define ICC_SGI1R_EL1   "S3_0_C12_C11_5"
#define ICC_SGI0R_EL1   "S3_0_C12_C11_7"
#define ICC_DIR_EL1     "S3_0_C12_C11_1"
#define ICC_RPR_EL1     "S3_0_C12_C11_3"
#define ICC_IGRPEN0_EL1 "S3_0_C12_C12_6"
#define ICC_SRE_EL2     "S3_4_C12_C9_5"
#define ICH_AP0R0_EL2   "S3_4_C12_C8_0"
#define ICH_AP0R1_EL2   "S3_4_C12_C8_1"
#define ICH_AP0R2_EL2   "S3_4_C12_C8_2"
#define ICH_AP0R3_EL2   "S3_4_C12_C8_3"
#define ICH_AP1R0_EL2   "S3_4_C12_C9_0"
#define ICH_AP1R1_EL2   "S3_4_C12_C9_1"
#define ICH_AP1R2_EL2   "S3_4_C12_C9_2"
#define ICH_AP1R3_EL2   "S3_4_C12_C9_3"
#define ICH_HCR_EL2     "S3_4_C12_C11_0"
#define ICH_VTR_EL2     "S3_4_C12_C11_1"
#define ICH_ELRSR_EL2   "S3_4_C12_C11_5"
#define ICH_VMCR_EL2    "S3_4_C12_C11_7"

/* SRE; DFB and DIB: no bypass of IRQ and FIQ around the GIC; Enable: EL1 may access its own
 * ICC_SRE_EL1. */
#define ICC_SRE_ALL         UINT64_C(0xf)
#define ICC_SRE_OWN         UINT64_C(0x7)      /* ICC_SRE_EL1: SRE, DFB and DIB */
#define ICC_CTLR_PRIORITIES (UINT64_C(7) << 8) /* PRIbits - 1 */

/* Fields of ICH_VTR_EL2: number of list registers - 1, and number of preemption bits - 1. Bits of
 * ICH_VMCR_EL2. */
#define ICH_VTR_LISTS      UINT64_C(0x1f)
#define ICH_VTR_TRAP_DIR   (UINT64_C(1) << 19) /* TDS: ICH_HCR_EL2.TDIR is implemented */
#define ICH_VTR_PREEMPTION (UINT64_C(7) << 26)
#define ICH_VMCR_GROUP1    (UINT64_C(1) << 1) /* VENG1: the guest has enabled Group 1 */
#define ICH_VMCR_SPLIT     (UINT64_C(1) << 9) /* VEOIM: EOImode of the guest */

#define GIC_REGISTER_READ(name)                                       \
    __extension__({                                                   \
        uint64_t read_;                                               \
        __asm__ volatile("mrs %0, " name : "=r"(read_) : : "memory"); \
        read_;                                                        \
    })
#define GIC_REGISTER_WRITE(name, value) \
    __asm__ volatile("msr " name ", %0" : : "r"((uint64_t)(value)) : "memory")

/* Resets the registers that a guest may have written: no priority is active, and Group 1 is
 * disabled. */
static inline void gic_registers_reset(void)
{
    uint64_t priorities = GIC_REGISTER_READ(ICC_CTLR_EL1) & ICC_CTLR_PRIORITIES;

    GIC_REGISTER_WRITE(ICC_IGRPEN1_EL1, 0);
    GIC_REGISTER_WRITE(ICC_BPR1_EL1, 0);
    GIC_REGISTER_WRITE(ICC_AP1R0_EL1, 0);
    /* ICC_AP1R1_EL1 exists with at least 6 bits of preemption, ICC_AP1R2_EL1 and ICC_AP1R3_EL1 with
     * 7 (IHI 0069, ICC_AP1R<n>_EL1). */
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

/* Clears the active priorities of Group 1 that block Group 0: those in ICC_AP1R0_EL1. Returns the
 * old value. Only 0 and the value that was read last may be written (IHI 0069, ICC_AP1R<n>_EL1). */
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

/* Resets the virtual CPU interface, which a guest may have written to: no priority is active. The
 * caller resets the list registers. */
static inline void gic_registers_reset_virtual(void)
{
    uint64_t preemption = GIC_REGISTER_READ(ICH_VTR_EL2) & ICH_VTR_PREEMPTION;

    GIC_REGISTER_WRITE(ICH_AP0R0_EL2, 0);
    GIC_REGISTER_WRITE(ICH_AP1R0_EL2, 0);
    /* These registers exist under the same conditions as ICC_AP1R<n>_EL1 (IHI 0069,
     * ICH_AP1R<n>_EL2). */
    if (preemption >= UINT64_C(5) << 26) {
        GIC_REGISTER_WRITE(ICH_AP0R1_EL2, 0);
        GIC_REGISTER_WRITE(ICH_AP1R1_EL2, 0);
    }
    if (preemption >= UINT64_C(6) << 26) {
        GIC_REGISTER_WRITE(ICH_AP0R2_EL2, 0);
        GIC_REGISTER_WRITE(ICH_AP0R3_EL2, 0);
        GIC_REGISTER_WRITE(ICH_AP1R2_EL2, 0);
        GIC_REGISTER_WRITE(ICH_AP1R3_EL2, 0);
    }
}

/* Returns the number of bits that a priority has. */
static inline unsigned gic_registers_priority_bits(void)
{
    return (unsigned)((GIC_REGISTER_READ(ICC_CTLR_EL1) & ICC_CTLR_PRIORITIES) >> 8) + 1;
}

static inline uint64_t gic_registers_control(void)
{
    return GIC_REGISTER_READ(ICC_CTLR_EL1);
}

static inline void gic_registers_set_control(uint64_t value)
{
    GIC_REGISTER_WRITE(ICC_CTLR_EL1, value);
    __asm__ volatile("isb" : : : "memory");
}

/* Returns true in EOImode 1. */
static inline bool gic_registers_ends_are_split(void)
{
    return (GIC_REGISTER_READ(ICC_CTLR_EL1) & ICC_CTLR_EOI_MODE) != 0;
}

/* Selects EOImode 1: dropping an interrupt's priority and deactivating it are separate writes from
 * now on. */
static inline void gic_registers_split_ends(void)
{
    gic_registers_set_control(ICC_CTLR_EOI_MODE);
}

/* Enables Group 1 for the hypervisor. */
static inline void gic_registers_enable_group1(void)
{
    GIC_REGISTER_WRITE(ICC_IGRPEN1_EL1, 1);
    __asm__ volatile("isb" : : : "memory");
}

/* Enables Group 0 for the hypervisor. Not called where the firmware owns Group 0, because the
 * access may trap to the firmware. */
static inline void gic_registers_enable_group0(void)
{
    GIC_REGISTER_WRITE(ICC_BPR0_EL1, 0);
    GIC_REGISTER_WRITE(ICC_IGRPEN0_EL1, 1);
    __asm__ volatile("isb" : : : "memory");
}

/* Sets up the CPU interface: every priority is signalled, one write ends an interrupt (EOImode 0),
 * and there are no virtual interrupts. Returns false if the core keeps the memory-mapped interface
 * of GICv2. */
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
    GIC_REGISTER_WRITE(ICC_PMR_EL1, 0xff);
    GIC_REGISTER_WRITE(ICC_IGRPEN1_EL1, 0);
    __asm__ volatile("isb" : : : "memory");
    return true;
}

static inline uint32_t gic_registers_acknowledge_group0(void)
{
    uint32_t number = (uint32_t)GIC_REGISTER_READ(ICC_IAR0_EL1) & 0xffffff;

    /* The DSB is necessary for the same reason as in gic_cpu_acknowledge(). */
    __asm__ volatile("dsb sy" : : : "memory");
    return number;
}

static inline void gic_registers_deactivate(uint32_t number)
{
    GIC_REGISTER_WRITE(ICC_DIR_EL1, number);
}

static inline void gic_registers_end_group0(uint32_t number)
{
    GIC_REGISTER_WRITE(ICC_EOIR0_EL1, number);
    __asm__ volatile("isb" : : : "memory");
}

static inline uint32_t gic_registers_acknowledge_group1(void)
{
    return gic_cpu_acknowledge();
}

/* Returns the priority of the interrupt that was acknowledged last. */
static inline uint32_t gic_registers_running_priority(void)
{
    return (uint32_t)GIC_REGISTER_READ(ICC_RPR_EL1) & 0xff;
}

static inline void gic_registers_drop_group1(uint32_t number)
{
    GIC_REGISTER_WRITE(ICC_EOIR1_EL1, number);
}

/* Returns true if ICC_PMR_EL1 keeps its lowest implemented bit. If not, the register shows the
 * upper half of the priorities, which is that of this security state (IHI 0069, "Software accesses
 * of interrupt priority": SCR_EL3.FIQ is 1). Changes ICC_PMR_EL1. */
static inline bool gic_registers_mask_has_lowest_priority(void)
{
    GIC_REGISTER_WRITE(ICC_PMR_EL1, UINT64_C(1) << (8 - gic_registers_priority_bits()));
    return GIC_REGISTER_READ(ICC_PMR_EL1) != 0;
}

/* Sets ICC_PMR_EL1: only interrupts that are more urgent than `priority` are signalled. */
static inline void gic_registers_mask(uint32_t priority)
{
    GIC_REGISTER_WRITE(ICC_PMR_EL1, priority);
}

/* Returns ICH_HCR_EL2; its fields are in gic/list_register.h. */
static inline uint64_t gic_registers_list_control(void)
{
    return GIC_REGISTER_READ(ICH_HCR_EL2);
}

/* Writes ICH_HCR_EL2, with EOIcount, too. */
static inline void gic_registers_control_lists(uint64_t value)
{
    GIC_REGISTER_WRITE(ICH_HCR_EL2, value);
}

/* Returns ICH_VTR_EL2. */
static inline uint64_t gic_registers_virtual_type(void)
{
    return GIC_REGISTER_READ(ICH_VTR_EL2);
}

/* Read and write ICH_VMCR_EL2: the guest's settings of its CPU interface. */
static inline uint64_t gic_registers_guest_control(void)
{
    return GIC_REGISTER_READ(ICH_VMCR_EL2);
}

static inline void gic_registers_set_guest_control(uint64_t value)
{
    GIC_REGISTER_WRITE(ICH_VMCR_EL2, value);
}

/* Returns true if the guest uses EOImode 1. */
static inline bool gic_registers_guest_splits_end(void)
{
    return (GIC_REGISTER_READ(ICH_VMCR_EL2) & ICH_VMCR_SPLIT) != 0;
}

/* Returns 32 bits of the guest's active priorities. Each bit stands for a group priority; the
 * lowest bit is the most urgent one. `word`: which 32 bits, 0 to 3. */
static inline uint32_t gic_registers_guest_active(unsigned word)
{
    switch (word) {
    case 0:
        return (uint32_t)GIC_REGISTER_READ(ICH_AP1R0_EL2);
    case 1:
        return (uint32_t)GIC_REGISTER_READ(ICH_AP1R1_EL2);
    case 2:
        return (uint32_t)GIC_REGISTER_READ(ICH_AP1R2_EL2);
    default:
        return (uint32_t)GIC_REGISTER_READ(ICH_AP1R3_EL2);
    }
}

/* Returns the guest's running priority, the most urgent active one, or 0x100 if no priority is
 * active (IHI 0069, ICH_AP1R<n>_EL2). */
static inline uint32_t gic_registers_guest_running_priority(void)
{
    unsigned bits = (unsigned)((GIC_REGISTER_READ(ICH_VTR_EL2) & ICH_VTR_PREEMPTION) >> 26) + 1;

    for (unsigned word = 0; word < 1u << bits >> 5; word++) {
        uint32_t active = gic_registers_guest_active(word);

        if (active != 0) {
            return (32 * word + (uint32_t)__builtin_ctz(active)) << (8 - bits);
        }
    }
    return 0x100;
}

static inline unsigned gic_registers_list_count(void)
{
    return (unsigned)(GIC_REGISTER_READ(ICH_VTR_EL2) & ICH_VTR_LISTS) + 1;
}

/* Makes gic_registers_free_lists() see earlier writes to list registers. ICH_ELRSR_EL2 follows them
 * after a context synchronization event (Arm ARM, "Synchronization requirements for AArch64 System
 * registers"). */
static inline void gic_registers_settle_lists(void)
{
    __asm__ volatile("isb" : : : "memory");
}

/* Returns the free list registers: bit n is list register n. */
static inline uint32_t gic_registers_free_lists(void)
{
    return (uint32_t)GIC_REGISTER_READ(ICH_ELRSR_EL2) & 0xffff;
}

/* list_registers.S: write and read list register `index`, which is below
 * gic_registers_list_count(). */
void gic_registers_list(unsigned index, uint64_t value);
uint64_t gic_registers_listed(unsigned index);

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
