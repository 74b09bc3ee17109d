/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Restores the configuration of a function that has lost it by a function-level reset, by the reset
 * of a bus behind a bridge, or because its slot was switched off (PCI Express Base 4.0, 6.6).
 */
#include "pci/pci_private.h"
#include <devices/pci_registers.h>

/* Converts an address of the processor to a bus address. Returns false if it is in no window. */
static bool on_bus(const struct pci_window *window, uint64_t address, uint64_t *bus_address)
{
    if (address < window->address || address - window->address >= window->bytes) {
        return false;
    }
    *bus_address = window->bus_address + (address - window->address);
    return true;
}

static void restore_bar(const struct pci_function *function, unsigned index)
{
    const struct pci_host *host = pci_host();
    const struct pci_bar *bar = &function->bar[index];
    uint64_t bus_address;

    if (bar->ports != 0) {
        if (on_bus(&host->ports, bar->mapping, &bus_address)) {
            pci_config_write(function, (uint16_t)(PCI_BAR + 4 * index), 4, (uint32_t)bus_address);
        }
    } else if (bar->address != 0 && (on_bus(&host->narrow, bar->address, &bus_address) ||
                                     on_bus(&host->wide, bar->address, &bus_address))) {
        pci_write_bar(function, index, bus_address);
    }
}

enum result pci_restore(struct pci_function *function)
{
    uint32_t id = pci_config_read(function, PCI_VENDOR_ID, 4);

    if (id != ((uint32_t)function->device_id << 16 | function->vendor_id)) {
        return RESULT_NOT_FOUND;
    }
    for (unsigned index = 0; index < pci_bar_count(function); index++) {
        restore_bar(function, index);
    }
    pci_enable(function);
    return RESULT_OK;
}
