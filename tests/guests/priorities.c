/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Checks the order of interrupts on the machine's controller: SGIs of 14 priorities that interrupt
 * each other, that are pending together, that are masked by their priorities, and that are
 * deactivated apart from their end. The processor masks interrupts and polls the CPU interface, so
 * no handler runs.
 */
#include "kernel/application.h"
#include "kernel/devicetree.h"
#include "run_checks.h"
#include <arch/device_access.h>
#include <arch/gic_cpu_interface.h>
#include <arch/mmu.h>
#include <devices/gic_registers.h>

#define ICC_SGI1R_EL1 "S3_0_C12_C11_5"
#define ICC_DIR_EL1   "S3_0_C12_C11_1"
#define ICC_RPR_EL1   "S3_0_C12_C11_3"
#define SGI_SHIFT     24
#define SGI_SELF      1u /* the target list has this processor, whose Aff0 is 0 */

#define SGIS              14u
#define ALL               ((1u << SGIS) - 1)
#define PRIORITY_STEP     8u  /* of 32 priorities */
#define PRIORITY_STEP_MAX 16u /* of 16 */
#define NONE              1023u
#define IDLE              0xffu /* ICC_RPR_EL1: nothing is active */
#define MASK_OPEN         0xffu
#define POLLS_MAX         100000u
#define ROUNDS            50u

static uintptr_t private; /* the Redistributor's SGI frame */
static uint64_t step;     /* between the priorities of two SGIs */

/* SGI 0 is the least urgent one that is ever signalled (IHI 0069, ICC_PMR_EL1). */
static uint32_t priority_of(uint32_t number)
{
    return (uint32_t)(0x100 - step * (number + 2));
}

static uint64_t control(void)
{
    uint64_t value;

    __asm__ volatile("mrs %0, " ICC_CTLR_EL1 : "=r"(value));
    return value;
}

static void set_control(uint64_t value)
{
    __asm__ volatile("msr " ICC_CTLR_EL1 ", %0\n\tisb" : : "r"(value) : "memory");
}

static void set_end_mode(bool split)
{
    set_control(split ? control() | ICC_CTLR_EOI_MODE : control() & ~ICC_CTLR_EOI_MODE);
}

static uint32_t running_priority(void)
{
    uint64_t value;

    __asm__ volatile("mrs %0, " ICC_RPR_EL1 : "=r"(value) : : "memory");
    return (uint32_t)value;
}

static uint32_t priority_mask(void)
{
    uint64_t value;

    __asm__ volatile("mrs %0, " ICC_PMR_EL1 : "=r"(value) : : "memory");
    return (uint32_t)value;
}

static void send(uint64_t number)
{
    __asm__ volatile("dsb sy\n\tmsr " ICC_SGI1R_EL1 ", %0\n\tisb"
                     :
                     : "r"(number << SGI_SHIFT | SGI_SELF)
                     : "memory");
}

static void deactivate(uint64_t number)
{
    __asm__ volatile("msr " ICC_DIR_EL1 ", %0\n\tisb" : : "r"(number) : "memory");
}

/* Waits until an interrupt of sufficient priority is pending, and returns its number. */
static uint32_t acknowledge(void)
{
    uint32_t number = NONE;

    for (unsigned poll = 0; number == NONE && poll < POLLS_MAX; poll++) {
        number = gic_cpu_acknowledge();
    }
    return number;
}

static uint32_t states(uint32_t offset)
{
    return device_read32(private + offset);
}

static bool nothing_is_left(void)
{
    CHECK(gic_cpu_acknowledge() == NONE);
    CHECK(running_priority() == IDLE);
    CHECK((states(GIC_ISPENDR) & 0xffff) == 0);
    CHECK((states(GIC_ISACTIVER) & 0xffff) == 0);
    return true;
}

/* Each one interrupts the one before, which is less urgent. */
static bool nested(void)
{
    for (uint32_t number = 0; number < SGIS; number++) {
        send(number);
        CHECK(acknowledge() == number);
        CHECK(running_priority() == priority_of(number));
        CHECK((states(GIC_ISACTIVER) & 0xffff) == (2u << number) - 1);
    }
    for (uint32_t number = 0; number < SGIS; number++) { /* not urgent enough, or the same */
        send(number);
    }
    CHECK(gic_cpu_acknowledge() == NONE);
    CHECK((states(GIC_ISPENDR) & ALL) == ALL);
    device_write32(private + GIC_ICPENDR, ALL);
    for (uint32_t number = SGIS; number-- != 0;) {
        CHECK(gic_cpu_acknowledge() == NONE);
        CHECK(running_priority() == priority_of(number));
        gic_cpu_end(number);
        CHECK((states(GIC_ISACTIVER) & 0xffff) == (1u << number) - 1);
    }
    return nothing_is_left();
}

/* All are pending before the first is acknowledged. The least urgent comes first, or last. */
static bool pending_together(void)
{
    for (unsigned upwards = 0; upwards < 2; upwards++) {
        for (uint32_t i = 0; i < SGIS; i++) {
            send(upwards != 0 ? i : SGIS - 1 - i);
        }
        CHECK((states(GIC_ISPENDR) & ALL) == ALL);
        for (uint32_t number = SGIS; number-- != 0;) {
            CHECK(acknowledge() == number);
            gic_cpu_end(number);
        }
        CHECK(nothing_is_left());
    }
    return true;
}

/* An interrupt that waited goes before the handler that was interrupted, as soon as it may. */
static bool waiting_while_nested(void)
{
    for (uint32_t number = 0; number < 6; number++) {
        send(number);
        CHECK(acknowledge() == number);
    }
    for (uint32_t number = 6; number < SGIS; number++) {
        send(number);
    }
    for (uint32_t number = SGIS; number-- != 6;) {
        CHECK(acknowledge() == number);
        if (number == 10) {
            send(3);
            send(SGIS - 1);
            CHECK(acknowledge() == SGIS - 1);
            gic_cpu_end(SGIS - 1);
        }
        gic_cpu_end(number);
    }
    for (uint32_t number = 6; number-- != 0;) {
        gic_cpu_end(number);
        if (number == 3) {
            CHECK(acknowledge() == 3);
            gic_cpu_end(3);
        }
    }
    return nothing_is_left();
}

/* With EOImode 1 all are active at the same time, and are deactivated in any order. */
static bool deactivated_apart(void)
{
    set_end_mode(true);
    for (uint32_t number = SGIS; number-- != 0;) {
        send(number);
        CHECK(acknowledge() == number);
        CHECK(running_priority() == priority_of(number));
        gic_cpu_end(number);
        CHECK(running_priority() == IDLE);
    }
    CHECK((states(GIC_ISACTIVER) & 0xffff) == ALL);
    send(7);
    CHECK(gic_cpu_acknowledge() == NONE); /* it is still active */
    for (uint32_t i = 0; i < SGIS; i++) {
        deactivate(i * 5 % SGIS);
    }
    CHECK(acknowledge() == 7);
    gic_cpu_end(7);
    deactivate(7);
    set_end_mode(false);
    return nothing_is_left();
}

/* A disabled interrupt stays pending, and is taken once it is enabled. */
static bool disabled_while_pending(void)
{
    for (uint32_t number = 0; number < 6; number++) {
        send(number);
    }
    device_write32(private + GIC_ICENABLER, 0x3f);
    CHECK(gic_cpu_acknowledge() == NONE);
    CHECK((states(GIC_ISPENDR) & 0xffff) == 0x3f);
    device_write32(private + GIC_ICPENDR, 0x15);
    device_write32(private + GIC_ISENABLER, 0x3f);
    for (uint32_t number = 5; number < 6; number -= 2) {
        CHECK(acknowledge() == number);
        gic_cpu_end(number);
    }
    return nothing_is_left();
}

/* ICC_PMR_EL1 has as many bits as priorities have. */
static bool mask_keeps_values(void)
{
    uint32_t bits;

    gic_cpu_set_priority_mask(MASK_OPEN);
    bits = priority_mask();
    for (uint32_t value = 0; value <= MASK_OPEN; value++) {
        gic_cpu_set_priority_mask((uint8_t)value);
        CHECK(priority_mask() == (value & bits));
    }
    gic_cpu_set_priority_mask(MASK_OPEN);
    return true;
}

/* An interrupt is signalled if it is more urgent than the mask. Others wait, pending. */
static bool masked(void)
{
    for (uint32_t number = 0; number < SGIS; number++) {
        gic_cpu_set_priority_mask((uint8_t)priority_of(number));
        send(number);
        CHECK(gic_cpu_acknowledge() == NONE);
        CHECK((states(GIC_ISPENDR) & 0xffff) == 1u << number);
        if (number + 1 < SGIS) {
            send(number + 1);
            CHECK(acknowledge() == number + 1);
            gic_cpu_set_priority_mask(MASK_OPEN);
            CHECK(gic_cpu_acknowledge() == NONE); /* the other one is active, and more urgent */
            gic_cpu_end(number + 1);
        }
        gic_cpu_set_priority_mask(MASK_OPEN);
        CHECK(acknowledge() == number);
        gic_cpu_end(number);
    }
    gic_cpu_set_priority_mask(0);
    send(SGIS - 1);
    CHECK(gic_cpu_acknowledge() == NONE);
    gic_cpu_set_priority_mask(MASK_OPEN);
    CHECK(acknowledge() == SGIS - 1);
    gic_cpu_end(SGIS - 1);
    return nothing_is_left();
}

/* EOImode keeps its value, and the read-only fields ignore a write. */
static bool control_keeps_values(void)
{
    uint64_t before = control();

    set_control(before | ICC_CTLR_EOI_MODE);
    CHECK(control() == (before | ICC_CTLR_EOI_MODE));
    set_control(0);
    CHECK(control() == before);
    return true;
}

static bool repeat(void)
{
    for (unsigned round = 0; round < ROUNDS; round++) {
        CHECK(nested() && pending_together() && waiting_while_nested() && deactivated_apart() &&
              disabled_while_pending() && masked());
    }
    return true;
}

static bool find_private_frame(void)
{
    int node = devicetree_next_compatible(-1, "arm,gic-v3");
    uint64_t address, size;

    CHECK(devicetree_reg(node, 1, &address, &size) == RESULT_OK);
    private = arch_mmu_map_device(address, (size_t)2 * GIC_FRAME_BYTES) + GIC_FRAME_BYTES;
    return true;
}

int application_main(void)
{
    static const struct named_check checks[] = {
        {"nested", nested},
        {"pending together", pending_together},
        {"waiting while nested", waiting_while_nested},
        {"deactivated apart", deactivated_apart},
        {"disabled while pending", disabled_while_pending},
        {"mask keeps values", mask_keeps_values},
        {"masked", masked},
        {"control keeps values", control_keeps_values},
        {"repeated", repeat},
    };
    uint32_t enabled;
    int status;

    step = boot_argument_number("step", PRIORITY_STEP, PRIORITY_STEP, PRIORITY_STEP_MAX);
    if (!find_private_frame()) {
        return 1;
    }
    /* The timer's interrupt, if it is pending, would be acknowledged. */
    __asm__ volatile("msr daifset, #0xf" : : : "memory");
    enabled = states(GIC_ISENABLER);
    device_write32(private + GIC_ICENABLER, UINT32_MAX);
    for (uint32_t number = 0; number < SGIS; number++) {
        device_write8(private + GIC_IPRIORITYR + number, (uint8_t)priority_of(number));
    }
    device_write32(private + GIC_IGROUPR, device_read32(private + GIC_IGROUPR) | ALL);
    device_write32(private + GIC_ISENABLER, ALL);
    gic_cpu_set_priority_mask(MASK_OPEN);
    set_end_mode(false);
    status = run_checks(checks, sizeof(checks) / sizeof(checks[0]));
    device_write32(private + GIC_ICENABLER, ALL);
    device_write32(private + GIC_ISENABLER, enabled);
    __asm__ volatile("msr daifclr, #0xf" : : : "memory");
    return status;
}
