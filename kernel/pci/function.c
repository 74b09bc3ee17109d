/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * One function: its configuration space, its capabilities, the mapping of its BARs, and enabling
 * it.
 */
#include "kernel/pci.h"
#include "pci/pci_private.h"
#include <arch/mmu.h>
#include <devices/pci_registers.h>

/* A capability list without a loop contains each 4-byte aligned offset of 0x40..0xFF at most once.
 */
#define CAPABILITIES_MAX 48u

static bool is_accessible(uint16_t offset, unsigned bytes)
{
    return (bytes == 1 || bytes == 2 || bytes == 4) && offset % bytes == 0 &&
           offset < PCI_CONFIG_BYTES;
}

static uint8_t device_function(const struct pci_function *function)
{
    return (uint8_t)(function->device << 3 | function->function);
}

uint32_t pci_config_read(const struct pci_function *function, uint16_t offset, unsigned bytes)
{
    if (!is_accessible(offset, bytes)) {
        return UINT32_MAX;
    }
    return pci_access_read(function->bus, device_function(function), offset, bytes);
}

void pci_config_write(const struct pci_function *function, uint16_t offset, unsigned bytes,
                      uint32_t value)
{
    if (is_accessible(offset, bytes)) {
        pci_access_write(function->bus, device_function(function), offset, bytes, value);
    }
}

/* Walks the linked list of capabilities. The lower two bits of its pointers are reserved
 * (PCI 3.0, 6.7).
 */
uint16_t pci_find_capability(const struct pci_function *function, uint8_t id)
{
    uint32_t offset;

    if ((pci_config_read(function, PCI_STATUS, 2) & PCI_STATUS_CAPABILITIES) == 0) {
        return 0;
    }
    offset = pci_config_read(function, PCI_CAPABILITIES, 1) & 0xFC;
    for (unsigned hop = 0; hop < CAPABILITIES_MAX && offset >= 0x40; hop++) {
        uint32_t header = pci_config_read(function, (uint16_t)offset, 2);

        if ((header & 0xFF) == id) {
            return (uint16_t)offset;
        }
        offset = header >> 8 & 0xFC;
    }
    return 0;
}

int pci_express_type(const struct pci_function *function)
{
    uint16_t offset = pci_find_capability(function, PCI_CAPABILITY_EXPRESS);

    if (offset == 0) {
        return -1;
    }
    return (int)PCI_EXPRESS_TYPE(
        pci_config_read(function, (uint16_t)(offset + PCI_EXPRESS_FLAGS), 2));
}

struct pci_function *pci_first(void)
{
    return pci_host()->first;
}

uintptr_t pci_map_bar(struct pci_function *function, unsigned index)
{
    struct pci_bar *bar;

    if (index >= PCI_BAR_COUNT) {
        return 0;
    }
    bar = &function->bar[index];
    if (bar->mapping == 0 && bar->address != 0 && bar->bytes <= PCI_MAP_BYTES_MAX) {
        bar->mapping = arch_mmu_map_device(bar->address, (size_t)bar->bytes);
    }
    return bar->mapping;
}

void pci_enable(struct pci_function *function)
{
    uint32_t command = pci_config_read(function, PCI_COMMAND, 2);

    command |= PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER;
    command &= ~PCI_COMMAND_INTX_DISABLE;
    pci_config_write(function, PCI_COMMAND, 2, command);
}
