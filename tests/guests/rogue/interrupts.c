/* SPDX-License-Identifier: BSD-2-Clause */
/* Attacks on interrupts of others, and with priorities above the hypervisor's interrupts. */
#include "kernel/print.h"
#include "kernel/time.h"
#include "rogue.h"
#include <arch/device_access.h>
#include <devices/gic_registers.h>

#define REDISTRIBUTOR_BYTES ((size_t)2 * GIC_FRAME_BYTES)

static void write(uintptr_t at, size_t width, uint64_t value)
{
    if (width == 1) {
        device_write8(at, (uint8_t)value);
    } else if (width == 2) {
        device_write16(at, (uint16_t)value);
    } else if (width == 4) {
        device_write32(at, (uint32_t)value);
    } else {
        device_write64(at, value);
    }
}

static void read(uintptr_t at, size_t width)
{
    if (width == 1) {
        (void)device_read8(at);
    } else if (width == 2) {
        (void)device_read16(at);
    } else if (width == 4) {
        (void)device_read32(at);
    } else {
        (void)device_read64(at);
    }
}

/* Registers lie in these ranges only; the rest of a frame is reserved (IHI 0069, 12.8, 12.10). */
struct range {
    size_t first, end;
};

#define RANGES 4u

static const struct range distributor_registers[RANGES] = {
    {0, 0x1000},
    {0x6000, 0x8000}, /* GICD_IROUTER */
    {0xffd0, 0x10000},
};

static const struct range redistributor_registers[RANGES] = {
    {0, 0x200},
    {0xffd0, 0x10000},
    {0x10000, 0x11000},
    {0x1ffd0, 0x20000},
};

/* Of a reserved range a sample has the first bytes of each of these parts. */
#define RESERVED_PART   256u
#define RESERVED_SAMPLE 8u

static bool is_left_out(const struct range *registers, size_t offset)
{
    if (!attack_samples || offset % RESERVED_PART < RESERVED_SAMPLE) {
        return false;
    }
    for (unsigned i = 0; i < RANGES; i++) {
        if (offset >= registers[i].first && offset < registers[i].end) {
            return false;
        }
    }
    return true;
}

/* Reads every register in every width, and writes zeros, ones and random values to it. */
static void scribble(uintptr_t frame, size_t bytes, const struct range *registers)
{
    for (size_t width = 1; width <= 8; width *= 2) {
        for (size_t offset = 0; offset < bytes; offset += width) {
            if (is_left_out(registers, offset)) {
                continue;
            }
            write(frame + offset, width, 0);
            write(frame + offset, width, UINT64_MAX);
            read(frame + offset, width);
            write(frame + offset, width, random_next());
        }
    }
}

void attack_distributor(uint64_t where)
{
    (void)where;
    scribble(reach(BOARD_DISTRIBUTOR, GIC_FRAME_BYTES), GIC_FRAME_BYTES, distributor_registers);
}

void attack_redistributor(uint64_t where)
{
    scribble(reach(BOARD_REDISTRIBUTORS + where * REDISTRIBUTOR_BYTES, REDISTRIBUTOR_BYTES),
             REDISTRIBUTOR_BYTES, redistributor_registers);
}

/* Sends every SGI to every core, by target list and by "all but self", through ICC_SGI1R_EL1. Then
 * writes random values to all three SGI registers. */
void attack_sgi(uint64_t where)
{
    (void)where;
    for (uint64_t number = 0; number < 16; number++) {
        for (uint64_t group = 0; group < 256; group++) {
            __asm__ volatile("msr s3_0_c12_c11_5, %0" : : "r"(number << 24 | group << 16 | 0xffff));
        }
        __asm__ volatile("msr s3_0_c12_c11_5, %0\n\tisb" : : "r"(number << 24 | UINT64_C(1) << 40));
    }
    for (unsigned i = 0; i < 10000; i++) {
        uint64_t value = random_next();

        __asm__ volatile("msr s3_0_c12_c11_5, %0\n\t" /* ICC_SGI1R_EL1 */
                         "msr s3_0_c12_c11_6, %0\n\t" /* ICC_ASGI1R_EL1 */
                         "msr s3_0_c12_c11_7, %0\n\t" /* ICC_SGI0R_EL1 */
                         "isb"
                         :
                         : "r"(value));
    }
}

/* Sets all SGIs and PPIs of this core to the highest priority, makes one pending, and acknowledges
 * interrupts for ever without ending them. */
void attack_priority(uint64_t where)
{
    uintptr_t frame =
        reach(BOARD_REDISTRIBUTORS + where * REDISTRIBUTOR_BYTES, REDISTRIBUTOR_BYTES);
    uint64_t number;

    __asm__ volatile("msr daifset, #0xf");
    for (uint32_t offset = 0; offset < 32; offset += 4) {
        device_write32(frame + GIC_FRAME_BYTES + GIC_IPRIORITYR + offset, 0);
    }
    device_write32(frame + GIC_FRAME_BYTES + GIC_ISENABLER, 1);
    device_write32(frame + GIC_FRAME_BYTES + GIC_ISPENDR, 1);
    for (;;) { /* ICC_IAR1_EL1 */
        __asm__ volatile("mrs %0, s3_0_c12_c12_0" : "=r"(number) : : "memory");
    }
}

#define ROUNDS     40u
#define INTIDS     1024u
#define SPIS_END   64u         /* the board's devices have lower numbers */
#define MODE_SPLIT UINT64_C(2) /* ICC_CTLR_EL1.EOImode */
/* ICC_AP1R0_EL1: an interrupt of the lowest of 32 priorities is active; of all priorities. */
#define LOWEST_BIT  (UINT64_C(1) << 31)
#define ALL_ACTIVE  UINT64_C(0xffffffff)
#define CPU_SUSPEND UINT64_C(0xc4000001) /* DEN0022, 5.1.2 */

/* Ends an interrupt, whoever has acknowledged it. The feigned active priority is there because the
 * interface ignores an end without one. */
static void end_interrupt(uint64_t number)
{
    __asm__ volatile("msr s3_0_c12_c9_0, %0\n\t"  /* ICC_AP1R0_EL1 */
                     "msr s3_0_c12_c12_1, %1\n\t" /* ICC_EOIR1_EL1 */
                     "isb"
                     :
                     : "r"(LOWEST_BIT), "r"(number)
                     : "memory");
}

/* Ends every interrupt of the board, and deactivates it also by ICC_DIR_EL1. */
void attack_end(uint64_t where)
{
    uint64_t control;

    (void)where;
    __asm__ volatile("msr daifset, #0xf\n\tmrs %0, s3_0_c12_c12_4"
                     : "=r"(control)); /* ICC_CTLR_EL1 */
    for (unsigned round = 0; round < ROUNDS; round++) {
        for (uint64_t number = 0; number < INTIDS; number++) {
            __asm__ volatile("msr s3_0_c12_c12_4, %0\n\tisb" : : "r"(control & ~MODE_SPLIT));
            end_interrupt(number);
            __asm__ volatile("msr s3_0_c12_c12_4, %0\n\tisb" : : "r"(control | MODE_SPLIT));
            end_interrupt(number);
            __asm__ volatile("msr s3_0_c12_c11_1, %0\n\tisb" : : "r"(number)); /* ICC_DIR_EL1 */
        }
    }
    __asm__ volatile("msr s3_0_c12_c9_0, xzr\n\tmsr s3_0_c12_c12_4, %0\n\tisb\n\tmsr daifclr, #0xf"
                     :
                     : "r"(control));
}

/* Ends every SPI of the board again and again, for `where` seconds. */
void attack_end_spis(uint64_t where)
{
    uint64_t end = time_after(where * NANOSECONDS_PER_SECOND);

    __asm__ volatile("msr daifset, #0xf");
    while (time_now() < end) {
        for (uint64_t number = 32; number < SPIS_END; number++) {
            end_interrupt(number);
        }
    }
    __asm__ volatile("msr s3_0_c12_c9_0, xzr\n\tisb\n\tmsr daifclr, #0xf");
}

/* Shuts this core as attack_shut() does, and waits in the hypervisor for ever (PSCI CPU_SUSPEND).
 */
void attack_suspend(uint64_t where)
{
    register uint64_t function __asm__("x0");
    register uint64_t state __asm__("x1") = 0;
    register uint64_t entry __asm__("x2") = 0;
    register uint64_t context __asm__("x3") = 0;

    (void)where;
    __asm__ volatile("msr daifset, #0xf\n\tmsr s3_0_c12_c9_0, %0\n\tisb" : : "r"(ALL_ACTIVE));
    for (;;) {
        function = CPU_SUSPEND;
        __asm__ volatile("hvc #0"
                         : "+r"(function), "+r"(state), "+r"(entry), "+r"(context)
                         :
                         : "memory");
    }
}

static void set_active(uint64_t priorities)
{
    __asm__ volatile("msr s3_0_c12_c9_0, %0\n\tisb" : : "r"(priorities) : "memory");
}

static uint64_t active_priorities(void)
{
    uint64_t priorities;

    __asm__ volatile("mrs %0, s3_0_c12_c9_0" : "=r"(priorities) : : "memory");
    return priorities;
}

/* Shuts this core against all interrupts, also the hypervisor's, by feigning that interrupts of all
 * priorities are active. */
static void shut(void)
{
    set_active(ALL_ACTIVE);
}

/* Shuts this core for ever. */
void attack_shut(uint64_t where)
{
    __asm__ volatile("msr daifset, #0xf");
    shut();
    for (;;) {
        if (where == SHUT_AGAIN) {
            shut();
        } else if (where == SHUT_ASLEEP) {
            __asm__ volatile("dsb sy\n\twfi");
        }
    }
}

/* Shuts this core for `where` seconds, or until the active priorities change by themselves. */
void attack_shut_a_while(uint64_t where)
{
    uint64_t end = time_after(where * NANOSECONDS_PER_SECOND), set, found;

    __asm__ volatile("msr daifset, #0xf");
    shut();
    set = active_priorities();
    do {
        found = active_priorities();
    } while (found == set && time_now() < end);
    set_active(0);
    __asm__ volatile("msr daifclr, #0xf");
    print("rogue: the active priorities are %s\n", found == set ? "kept" : "lost");
}

void attack_shut_dma(uint64_t where)
{
    shut();
    attack_dma_transmit(where);
}
