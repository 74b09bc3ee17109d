/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Handles the interrupt of the clock (PL031), an SPI, for several milliseconds in each round, with
 * its line asserted: first it is pending, then active. Checks in between that it keeps this state,
 * whatever the guests of other partitions do. The processor masks interrupts and polls the CPU
 * interface, so no handler runs, and no other interrupt is enabled.
 */
#include "kernel/application.h"
#include "kernel/devicetree.h"
#include "kernel/time.h"
#include "run_checks.h"
#include <arch/device_access.h>
#include <arch/gic_cpu_interface.h>
#include <arch/mmu.h>
#include <devices/gic_registers.h>

/* PL031 (Arm DDI 0224). */
#define RTC_DATA  0x00u
#define RTC_MATCH 0x04u
#define RTC_MASK  0x10u
#define RTC_CLEAR 0x1cu

#define NONE     1023u
#define ROUNDS   20u
#define POLLS    12u
#define POLL     (NANOSECONDS_PER_MILLISECOND / 4)
#define PRIORITY 0xa0u

static uintptr_t distributor, clock;
static uint32_t number;

static bool is_set(uint32_t offset)
{
    return (device_read32(distributor + offset + 4 * (number / 32)) >> number % 32 & 1) != 0;
}

static void set(uint32_t offset)
{
    device_write32(distributor + offset + 4 * (number / 32), UINT32_C(1) << number % 32);
}

/* Waits for a while. Reads the states of the interrupt again and again. */
static bool stays(bool is_pending, bool is_active)
{
    for (unsigned poll = 0; poll < POLLS; poll++) {
        uint64_t end = time_after(POLL);

        while (time_now() < end) {
        }
        CHECK(is_set(GIC_ISENABLER));
        CHECK(!is_pending || is_set(GIC_ISPENDR));
        CHECK(is_set(GIC_ISACTIVER) == is_active);
        CHECK(!is_active || gic_cpu_acknowledge() == NONE);
    }
    return true;
}

static void wait_until_pending(void)
{
    while (!is_set(GIC_ISPENDR)) {
    }
}

static bool hold_once(void)
{
    device_write32(clock + RTC_MATCH, device_read32(clock + RTC_DATA)); /* asserts the line */
    wait_until_pending();
    CHECK(stays(true, false));
    CHECK(gic_cpu_acknowledge() == number);
    CHECK(stays(false, true));
    device_write32(clock + RTC_CLEAR, 1);
    CHECK(stays(false, true));
    gic_cpu_end(number);
    CHECK(gic_cpu_acknowledge() == NONE);
    CHECK(stays(false, false));
    return true;
}

static bool rounds(void)
{
    for (unsigned i = 0; i < ROUNDS; i++) {
        CHECK(hold_once());
    }
    return true;
}

/* While the line stays asserted, each end is followed by the next interrupt. */
static bool again(void)
{
    device_write32(clock + RTC_MATCH, device_read32(clock + RTC_DATA));
    for (unsigned i = 0; i < ROUNDS; i++) {
        wait_until_pending();
        CHECK(gic_cpu_acknowledge() == number);
        CHECK(stays(false, true));
        gic_cpu_end(number);
    }
    device_write32(clock + RTC_CLEAR, 1);
    return true;
}

static bool find_devices(void)
{
    int controller = devicetree_next_compatible(-1, "arm,gic-v3");
    int node = devicetree_next_compatible(-1, "arm,pl031");
    uint64_t address, size;
    enum interrupt_trigger trigger;

    CHECK(devicetree_reg(controller, 0, &address, &size) == RESULT_OK);
    distributor = arch_mmu_map_device(address, GIC_FRAME_BYTES);
    CHECK(devicetree_reg(node, 0, &address, &size) == RESULT_OK);
    clock = arch_mmu_map_device(address, (size_t)size);
    CHECK(devicetree_interrupt(node, 0, &number, &trigger) == RESULT_OK);
    return true;
}

int application_main(void)
{
    static const struct named_check checks[] = {{"held", rounds}, {"held again", again}};
    uintptr_t private;
    uint64_t address, size;

    if (!find_devices() || devicetree_reg(devicetree_next_compatible(-1, "arm,gic-v3"), 1, &address,
                                          &size) != RESULT_OK) {
        return 1;
    }
    private = arch_mmu_map_device(address, (size_t)2 * GIC_FRAME_BYTES) + GIC_FRAME_BYTES;
    __asm__ volatile("msr daifset, #0xf" : : : "memory");
    device_write32(private + GIC_ICENABLER, UINT32_MAX);
    device_write32(clock + RTC_CLEAR, 1);
    device_write32(clock + RTC_MASK, 1);
    device_write8(distributor + GIC_IPRIORITYR + number, PRIORITY);
    set(GIC_ISENABLER);
    return run_checks(checks, sizeof(checks) / sizeof(checks[0]));
}
