/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Interrupts of guests without a kernel, which have a single SPI. The guests mask interrupts: a
 * VCPU sleeps, and then acknowledges what is pending.
 */
#ifndef GUEST_INTERRUPTS_H
#define GUEST_INTERRUPTS_H

#include "machine.h"

/* The GICv3 of QEMU's `virt`, by IHI 0069. */
#define DISTRIBUTOR        0x08000000u
#define GROUP_1            (1u << 1)  /* GICD_CTLR.EnableGrp1 */
#define WRITE_PENDING      (1u << 31) /* GICD_CTLR.RWP */
#define ISENABLER          0x0100u
#define ICENABLER          0x0180u
#define ISPENDR            0x0200u
#define ISACTIVER          0x0300u
#define IPRIORITYR         0x0400u
#define IROUTER            0x6000u
#define REDISTRIBUTORS     0x080a0000u
#define REDISTRIBUTOR_STEP 0x20000u
#define SGI_FRAME          0x10000u
#define SPI_WORDS          32u
#define NONE               1020u /* "Special INTIDs" */

static inline uint64_t physical_counter(void)
{
    uint64_t value;

    __asm__ volatile("isb\n\tmrs %0, cntpct_el0" : "=r"(value) : : "memory");
    return value;
}

/* Sets the physical timer, and enables it. `due`: of physical_counter(). */
static inline void set_physical_timer(uint64_t due)
{
    __asm__ volatile("msr cntp_cval_el0, %0\n\tmsr cntp_ctl_el0, %1\n\tisb"
                     :
                     : "r"(due), "r"(UINT64_C(1))
                     : "memory");
}

/* Opens the CPU interface for all priorities. */
static inline void open_interface(void)
{
    __asm__ volatile("msr s3_0_c12_c12_5, %0\n\tisb\n\t" /* ICC_SRE_EL1 */
                     "msr s3_0_c4_c6_0, %1\n\t"          /* ICC_PMR_EL1 */
                     "msr s3_0_c12_c12_7, %0\n\tisb"     /* ICC_IGRPEN1_EL1 */
                     :
                     : "r"(UINT64_C(1)), "r"(UINT64_C(0xff)));
}

/* Returns the number of a pending interrupt, which is active now, or at least NONE. */
static inline uint64_t acknowledge(void)
{
    uint64_t number;

    __asm__ volatile("mrs %0, s3_0_c12_c12_0" : "=r"(number) : : "memory"); /* ICC_IAR1_EL1 */
    return number;
}

static inline void end_interrupt(uint64_t number)
{
    __asm__ volatile("msr s3_0_c12_c12_1, %0\n\tisb" : : "r"(number)); /* ICC_EOIR1_EL1 */
}

/* Sends an SGI. `to`: the other fields of ICC_SGI1R_EL1. */
static inline void send_sgi(uint32_t sgi, uint64_t to)
{
    __asm__ volatile("dsb sy\n\tmsr s3_0_c12_c11_5, %0\n\tisb" : : "r"((uint64_t)sgi << 24 | to));
}

/* Returns the SGI frame of a VCPU's Redistributor. */
static inline uintptr_t sgi_frame(unsigned vcpu)
{
    return REDISTRIBUTORS + vcpu * REDISTRIBUTOR_STEP + SGI_FRAME;
}

/* Enables the guest's SPI, and returns its number. It is the only bit that the guest can set. */
static inline uint32_t enable_spi(void)
{
    for (uint32_t word = 1; word < SPI_WORDS; word++) {
        uintptr_t address = DISTRIBUTOR + ISENABLER + 4 * word;

        write32(address, UINT32_MAX);
        if (read32(address) != 0) {
            return 32 * word + (uint32_t)__builtin_ctz(read32(address));
        }
    }
    print("FAIL: no SPI\n");
    return 0;
}

static inline void make_pending(uint32_t spi)
{
    write32(DISTRIBUTOR + ISPENDR + spi / 32 * 4, 1u << spi % 32);
}

/* Sends an SPI to one VCPU. */
static inline void set_route(uint32_t spi, unsigned vcpu)
{
    *(volatile uint64_t *)(uintptr_t)(DISTRIBUTOR + IROUTER + 8 * spi) = vcpu;
}

/* Returns the lower half of the route. */
static inline uint32_t read_route(uint32_t spi)
{
    return read32(DISTRIBUTOR + IROUTER + 8 * spi);
}

#endif
