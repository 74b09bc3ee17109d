/* SPDX-License-Identifier: BSD-2-Clause */
/* Attacks on the PCI host for channels, whose functions the hypervisor emulates. */
#include "kernel/memory.h"
#include "kernel/print.h"
#include "rogue.h"
#include <arch/device_access.h>
#include <arch/mmu.h>

#define HOST_ECAM_BYTES   UINT64_C(0x100000) /* configuration space of bus 0 */
#define HOST_WINDOW_BYTES UINT64_C(0x10000)  /* addresses for BAR 0, behind it */
#define COMMAND           0x04u
#define COMMAND_ALL       0x7u
#define BAR               0x10u
#define ABSENT_STEP       64u /* bytes between the registers of a function that is absent */

/* Reads and writes with each size that ends at the alignment of the offset. */
static void scribble_register(uintptr_t at)
{
    uint64_t value = random_next();

    device_write8(at, (uint8_t)value);
    (void)device_read8(at);
    if (at % 2 == 0) {
        device_write16(at, (uint16_t)(value >> 8));
        (void)device_read16(at);
    }
    if (at % 4 == 0) {
        device_write32(at, (uint32_t)(value >> 24));
        (void)device_read32(at);
    }
    if (at % 8 == 0) {
        *(volatile uint64_t *)at = value;
        (void)*(volatile uint64_t *)at;
    }
}

void scribble_registers(uintptr_t from, uint64_t bytes, uint64_t step)
{
    for (uint64_t offset = 0; offset < bytes; offset += step) {
        scribble_register(from + offset);
    }
}

/* `where`: of the host. Places BAR 0 of its first function everywhere. */
void attack_function(uint64_t where)
{
    uintptr_t ecam = reach(where, HOST_ECAM_BYTES);
    uintptr_t window = reach(where + HOST_ECAM_BYTES, HOST_WINDOW_BYTES);
    unsigned present = 0;

    for (uint64_t function = 0; function < HOST_ECAM_BYTES; function += PAGE) {
        bool is_present = device_read32(ecam + function) != UINT32_MAX;

        present += is_present;
        scribble_registers(ecam + function, PAGE, is_present ? 1 : ABSENT_STEP);
    }
    for (uint64_t page = 0; page < HOST_WINDOW_BYTES; page += PAGE) {
        device_write32(ecam + BAR, (uint32_t)(where + HOST_ECAM_BYTES + page));
        device_write16(ecam + COMMAND, COMMAND_ALL);
        scribble_registers(window + page, PAGE, 1);
    }
    scribble_registers(window, HOST_WINDOW_BYTES, ABSENT_STEP);
    for (unsigned i = 0; i < 1000; i++) {
        device_write32(ecam + BAR, (uint32_t)random_next());
        scribble_register(window + random_next() % HOST_WINDOW_BYTES);
    }
    print("%u functions of channels answered\n", present);
}

void attack_unaligned(uint64_t where)
{
    print("read %x\n", *(volatile uint32_t *)reach_as_memory(where));
}
