/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * I/O space (PCI 3.0, 6.2.5.1). Only legacy devices need it, so an I/O BAR is assigned an address
 * when a driver maps it. Bridges do not forward I/O space.
 */
#include "pci/pci_private.h"
#include <arch/mmu.h>
#include <devices/pci_registers.h>

/* Functions do not share pages, so that each function can be assigned to a partition alone. */
#define PORTS_UNIT UINT64_C(4096)

/* Returns what the BAR reads after all ones were written. Decoding of I/O space is off. */
static uint32_t size_of(const struct pci_function *function, uint16_t offset)
{
    uint32_t mask;

    pci_config_write(function, offset, 4, UINT32_MAX);
    mask = pci_config_read(function, offset, 4);
    pci_config_write(function, offset, 4, 0);
    /* The upper half may be hard-wired to 0. */
    return (~(mask & ~UINT32_C(3)) + 1) & UINT16_MAX;
}

uintptr_t pci_map_ports(struct pci_function *function, unsigned index, uint32_t *bytes)
{
    struct pci_window *window = &pci_host()->ports;
    uint16_t offset = (uint16_t)(PCI_BAR + 4 * index);
    struct pci_bar *bar;

    if (index >= pci_bar_count(function) || function->bridge != NULL) {
        return 0;
    }
    bar = &function->bar[index];
    if (bar->ports == 0) {
        /* Refuse memory BARs, which have a size already. Callers do not pass the upper half of one.
         */
        if (bar->bytes != 0 || (pci_config_read(function, offset, 4) & PCI_BAR_IO) == 0 ||
            window->next + PORTS_UNIT > window->bytes) {
            return 0;
        }
        *bytes = size_of(function, offset);
        if (*bytes == 0 || *bytes > PORTS_UNIT) {
            return 0;
        }
        bar->mapping = arch_mmu_map_device(window->address + window->next, PORTS_UNIT);
        if (bar->mapping == 0) {
            return 0;
        }
        pci_config_write(function, offset, 4, (uint32_t)(window->bus_address + window->next));
        window->next += PORTS_UNIT;
        bar->ports = *bytes;
    }
    *bytes = bar->ports;
    return bar->mapping;
}
