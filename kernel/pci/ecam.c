/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Configuration space through the enhanced configuration access mechanism (PCI Express Base 4.0,
 * 7.2.2): 4 KiB for each function, 1 MiB for each bus. A bus is mapped at the first access to it.
 */
#include "pci/pci_private.h"
#include <arch/device_access.h>
#include <arch/mmu.h>
#include <devices/pci_registers.h>

#define BUS_BYTES ((size_t)1024 * 1024)

static struct {
    uint64_t address;
    uint8_t first_bus;
    uint32_t mapped[256 / 32]; /* one bit for each bus; mapped one to one (arch/mmu.h) */
} ecam;

void pci_access_init(uint64_t address, uint8_t first_bus)
{
    ecam.address = address;
    ecam.first_bus = first_bus;
}

/* Returns the address of the register, 0 if its bus cannot be mapped. */
static uintptr_t locate(uint8_t bus, uint8_t device_function, uint16_t offset)
{
    uint64_t base = ecam.address + (uint64_t)(uint8_t)(bus - ecam.first_bus) * BUS_BYTES;
    uint32_t bit = UINT32_C(1) << bus % 32;

    if ((ecam.mapped[bus / 32] & bit) == 0) {
        if (arch_mmu_map_device(base, BUS_BYTES) == 0) {
            return 0;
        }
        ecam.mapped[bus / 32] |= bit;
    }
    return (uintptr_t)base + (uintptr_t)device_function * PCI_CONFIG_BYTES + offset;
}

uint32_t pci_access_read(uint8_t bus, uint8_t device_function, uint16_t offset, unsigned bytes)
{
    uintptr_t address = locate(bus, device_function, offset);

    if (address == 0) {
        return UINT32_MAX >> (32 - 8 * bytes);
    }
    switch (bytes) {
    case 1:
        return device_read8(address);
    case 2:
        return device_read16(address);
    default:
        return device_read32(address);
    }
}

void pci_access_write(uint8_t bus, uint8_t device_function, uint16_t offset, unsigned bytes,
                      uint32_t value)
{
    uintptr_t address = locate(bus, device_function, offset);

    if (address == 0) {
        return;
    }
    switch (bytes) {
    case 1:
        device_write8(address, (uint8_t)value);
        break;
    case 2:
        device_write16(address, (uint16_t)value);
        break;
    default:
        device_write32(address, value);
        break;
    }
}
