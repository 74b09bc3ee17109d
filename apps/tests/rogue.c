/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * A partition that tries the one thing that the boot argument `attack` names (`address` is where,
 * if that is part of it), and says what came of it. What the separation kernel has to stop never
 * comes back.
 */
#include "gic/gic_registers.h"
#include "kernel/application.h"
#include "kernel/devicetree.h"
#include "kernel/print.h"
#include "kernel/time.h"
#include <arch/device_access.h>
#include <arch/mmu.h>
#include <string.h>

#define PAGE                UINT64_C(4096)
#define FUNCTIONS           256u
#define CALLS               1000000u
#define REDISTRIBUTOR_BYTES ((size_t)2 * GIC_FRAME_BYTES)

/* As the board has them (boards/qemu-virt): what is attacked is not in this guest's devicetree. */
#define BOARD_DISTRIBUTOR    UINT64_C(0x08000000)
#define BOARD_REDISTRIBUTORS UINT64_C(0x080a0000)
#define BOARD_ECAM           UINT64_C(0x4010000000)

static uint64_t where;

/* xorshift64: the same run each time. */
static uint64_t random_next(void)
{
    static uint64_t state = 88172645463325252;

    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return state;
}

static uintptr_t reach(uint64_t address, size_t bytes)
{
    uintptr_t mapped = arch_mmu_map_device(address & ~(PAGE - 1), bytes);

    return mapped + (address & (PAGE - 1));
}

static void attack_read(void)
{
    print("read %x\n", device_read32(reach(where, PAGE)));
}

static void attack_write(void)
{
    device_write32(reach(where, PAGE), 0x600dbad);
}

/* With the MMU off everything may be executed, as far as this guest is concerned. */
static void attack_execute(void)
{
    uint64_t control;

    __asm__ volatile("msr daifset, #0xf\n\t"
                     "mrs %0, sctlr_el1\n\t"
                     "bic %0, %0, #1\n\t"
                     "msr sctlr_el1, %0\n\t"
                     "isb\n\t"
                     "br %1"
                     : "=&r"(control)
                     : "r"(where)
                     : "memory");
}

/* What the processor describes too little of for anybody to answer it. */
static void attack_pair(void)
{
    uintptr_t at = reach(where, PAGE);
    uint64_t low;
    uint64_t high;

    __asm__ volatile("ldp %0, %1, [%2]" : "=r"(low), "=r"(high) : "r"(at) : "memory");
    print("read %lx %lx\n", (unsigned long)low, (unsigned long)high);
}

static void scribble(uintptr_t frame, size_t bytes)
{
    for (size_t offset = 0; offset < bytes; offset += 4) {
        device_write32(frame + offset, UINT32_MAX);
        (void)device_read32(frame + offset);
        device_write32(frame + offset, (uint32_t)random_next());
    }
}

static void attack_distributor(void)
{
    scribble(reach(BOARD_DISTRIBUTOR, GIC_FRAME_BYTES), GIC_FRAME_BYTES);
}

static void attack_own_redistributor(void)
{
    scribble(reach(BOARD_REDISTRIBUTORS + where * REDISTRIBUTOR_BYTES, REDISTRIBUTOR_BYTES),
             REDISTRIBUTOR_BYTES);
}

static void attack_configuration_space(void)
{
    uintptr_t ecam = reach(BOARD_ECAM, FUNCTIONS * PAGE);
    unsigned present = 0;

    for (uint32_t function = 0; function < FUNCTIONS; function++) {
        uintptr_t at = ecam + function * PAGE;

        present += device_read32(at) != UINT32_MAX;
        for (uint32_t offset = 0; offset < PAGE; offset += 4) {
            device_write32(at + offset, UINT32_MAX);
            device_write32(at + offset, (uint32_t)random_next());
        }
    }
    print("%u functions answered\n", present);
}

/* ICC_SGI1R_EL1, to every core by list and by "all but self", every number. */
static void attack_sgi(void)
{
    for (uint64_t number = 0; number < 16; number++) {
        for (uint64_t group = 0; group < 256; group++) {
            __asm__ volatile("msr s3_0_c12_c11_5, %0" : : "r"(number << 24 | group << 16 | 0xffff));
        }
        __asm__ volatile("msr s3_0_c12_c11_5, %0\n\tisb" : : "r"(number << 24 | UINT64_C(1) << 40));
    }
}

static int64_t call(bool hypervisor, const uint64_t arguments[4])
{
    register uint64_t x0 __asm__("x0") = arguments[0];
    register uint64_t x1 __asm__("x1") = arguments[1];
    register uint64_t x2 __asm__("x2") = arguments[2];
    register uint64_t x3 __asm__("x3") = arguments[3];

    if (hypervisor) {
        __asm__ volatile("hvc #0" : "+r"(x0), "+r"(x1), "+r"(x2), "+r"(x3) : : "memory");
    } else {
        __asm__ volatile("smc #0" : "+r"(x0), "+r"(x1), "+r"(x2), "+r"(x3) : : "memory");
    }
    return (int64_t)x0;
}

#define PSCI_CPU_ON UINT64_C(0xc4000003)

static void attack_power(void)
{
    unsigned started = 0;

    for (uint64_t affinity = 0; affinity < 1024; affinity++) {
        const uint64_t arguments[4] = {PSCI_CPU_ON, affinity, (uintptr_t)attack_power, 0};

        started += call(affinity % 2 != 0, arguments) == 0;
    }
    print("%u cores started\n", started);
}

/* Function numbers that stop this partition are its own business: not among them. */
static bool ends(uint32_t function)
{
    function &= ~UINT32_C(0x40000000);
    return function == 0x84000001 || function == 0x84000002 || function == 0x84000008 ||
           function == 0x84000009 || function == 0x84000012 || function == 0x84000003;
}

static void attack_calls(void)
{
    for (uint32_t i = 0; i < CALLS; i++) {
        uint64_t arguments[4] = {random_next(), random_next(), random_next(), random_next()};

        if (i % 4 == 0) { /* near those that mean something */
            arguments[0] = 0x84000000 | (random_next() & 0x4000003f);
        }
        if (!ends((uint32_t)arguments[0])) {
            (void)call(i % 2 != 0, arguments);
        }
    }
    print("%u calls\n", CALLS);
}

static void attack_cache(void)
{
    for (uint64_t set = 0; set < 1024; set++) {
        uint64_t value = set << 6;

        __asm__ volatile("dc isw, %0\n\tdc csw, %0\n\tdc cisw, %0" : : "r"(value) : "memory");
    }
}

static void attack_registers(void)
{
    uint64_t value;

    __asm__ volatile("mrs %0, actlr_el1" : "=r"(value));
    __asm__ volatile("msr actlr_el1, %0" : : "r"(~value));
    __asm__ volatile("mrs %0, s3_1_c15_c2_1" : "=r"(value)); /* implementation defined */
    __asm__ volatile("msr s3_1_c15_c2_1, %0" : : "r"(~value));
}

/* Everything masked, for good. */
static void attack_spin(void)
{
    __asm__ volatile("msr daifset, #0xf");
    for (;;) {
    }
}

/* All of its own interrupts at the highest priority it can write, one of them never ended. */
static void attack_priority(void)
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

static void attack_waiting(void)
{
    uint64_t end = time_after(NANOSECONDS_PER_SECOND);

    __asm__ volatile("msr daifset, #0xf");
    while (time_now() < end) {
        __asm__ volatile("sev\n\twfe\n\twfe\n\tyield");
    }
    __asm__ volatile("msr daifclr, #0xf");
}

static const struct {
    const char *name;
    void (*make)(void);
} attacks[] = {
    {"read", attack_read},
    {"write", attack_write},
    {"execute", attack_execute},
    {"pair", attack_pair},
    {"distributor", attack_distributor},
    {"redistributor", attack_own_redistributor},
    {"ecam", attack_configuration_space},
    {"sgi", attack_sgi},
    {"power", attack_power},
    {"calls", attack_calls},
    {"cache", attack_cache},
    {"registers", attack_registers},
    {"spin", attack_spin},
    {"priority", attack_priority},
    {"waiting", attack_waiting},
};

int application_main(void)
{
    char name[16];

    where = boot_argument_number("address", 0, 0, UINT64_MAX);
    if (!boot_argument("attack", name, sizeof name)) {
        print("rogue: harmless\n");
        return 0;
    }
    for (size_t i = 0; i < sizeof attacks / sizeof attacks[0]; i++) {
        if (strcmp(name, attacks[i].name) == 0) {
            print("rogue: %s\n", name);
            attacks[i].make();
            print("rogue: survived\n");
            return 0;
        }
    }
    print("rogue: unknown attack %s\n", name);
    return 1;
}
