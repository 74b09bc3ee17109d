/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Base address registers (PCI 3.0, 6.2.5.1). The values that a device returns are not trusted: a
 * BAR whose size is not a power of two, or a 64-bit BAR without an upper half, is treated as
 * absent.
 */
#include "pci/pci_private.h"
#include <devices/pci_registers.h>

unsigned pci_bar_count(const struct pci_function *function)
{
    switch (function->header_type) {
    case PCI_HEADER_DEVICE:
        return 6;
    case PCI_HEADER_BRIDGE:
        return 2;
    default:
        return 0;
    }
}

static uint16_t bar_offset(unsigned index)
{
    return (uint16_t)(PCI_BAR + 4 * index);
}

void pci_write_bar(const struct pci_function *function, unsigned index, uint64_t bus_address)
{
    pci_config_write(function, bar_offset(index), 4, (uint32_t)bus_address);
    if (function->bar[index].wide) {
        pci_config_write(function, bar_offset(index + 1), 4, (uint32_t)(bus_address >> 32));
    }
}

/* Sizes a register: writes all ones, reads back which bits are set, and restores the old value.
 * Decoding is off. */
static uint32_t probe(const struct pci_function *function, unsigned index, uint32_t old)
{
    uint32_t mask;

    pci_config_write(function, bar_offset(index), 4, UINT32_MAX);
    mask = pci_config_read(function, bar_offset(index), 4);
    pci_config_write(function, bar_offset(index), 4, old);
    return mask;
}

/* Returns the processor's address of a BAR that the firmware assigned, 0 if it is not usable. */
static uint64_t keep(const struct pci_window *window, uint64_t bus_address, uint64_t bytes)
{
    uint64_t offset = bus_address - window->bus_address;

    if (bus_address < window->bus_address || offset >= window->bytes ||
        bytes > window->bytes - offset || bus_address % bytes != 0) {
        return 0;
    }
    return window->address + offset;
}

static bool overlaps(const struct pci_bar *bar, uint64_t address, uint64_t bytes)
{
    return bar->address != 0 && address < bar->address + bar->bytes &&
           bar->address < address + bytes;
}

/* Returns true if the range overlaps no BAR that was kept so far. */
static bool is_free(const struct pci_host *host, const struct pci_function *self, uint64_t address,
                    uint64_t bytes)
{
    for (unsigned index = 0; index < PCI_BAR_COUNT; index++) {
        if (overlaps(&self->bar[index], address, bytes)) {
            return false;
        }
    }
    for (const struct pci_function *other = host->first; other != NULL; other = other->next) {
        for (unsigned index = 0; index < PCI_BAR_COUNT; index++) {
            if (overlaps(&other->bar[index], address, bytes)) {
                return false;
            }
        }
    }
    return true;
}

/* Behind a bridge no address is kept, because the bridge's windows are assigned again. */
static void keep_assigned(const struct pci_host *host, struct pci_function *function,
                          struct pci_bar *bar, uint64_t bus_address)
{
    uint64_t address;

    if (function->bridge != NULL || bus_address == 0) {
        return;
    }
    address = keep(&host->narrow, bus_address, bar->bytes);
    if (address == 0 && bar->wide) {
        address = keep(&host->wide, bus_address, bar->bytes);
    }
    if (address != 0 && is_free(host, function, address, bar->bytes)) {
        bar->address = address;
    }
}

/* Reads type, size and address of one BAR. Returns the number of its registers, 1 or 2. */
static unsigned size_bar(const struct pci_host *host, struct pci_function *function, unsigned index)
{
    struct pci_bar *bar = &function->bar[index];
    uint32_t low = pci_config_read(function, bar_offset(index), 4);
    uint32_t low_mask = probe(function, index, low);
    uint64_t mask = UINT64_C(0xFFFFFFFF00000000) | (low_mask & PCI_BAR_ADDRESS_MASK);
    uint64_t bus_address = low & PCI_BAR_ADDRESS_MASK;
    bool wide = (low_mask & PCI_BAR_TYPE) == PCI_BAR_TYPE_64;

    if (low_mask == 0 || low_mask == UINT32_MAX || (low_mask & PCI_BAR_IO) != 0) {
        return 1;
    }
    if (wide) {
        uint32_t high;

        if (index + 1 >= pci_bar_count(function)) {
            return 1;
        }
        high = pci_config_read(function, bar_offset(index + 1), 4);
        mask = (uint64_t)probe(function, index + 1, high) << 32 | (uint32_t)mask;
        bus_address |= (uint64_t)high << 32;
    } else if ((low_mask & PCI_BAR_TYPE) != PCI_BAR_TYPE_32 || (uint32_t)mask == 0) {
        return 1;
    }
    bar->bytes = -mask;
    if (mask == 0 || (bar->bytes & (bar->bytes - 1)) != 0) {
        bar->bytes = 0;
        return wide ? 2 : 1;
    }
    bar->wide = wide;
    bar->prefetchable = (low_mask & PCI_BAR_PREFETCHABLE) != 0;
    keep_assigned(host, function, bar, bus_address);
    return wide ? 2 : 1;
}

void pci_size_bars(const struct pci_host *host, struct pci_function *function)
{
    unsigned count = pci_bar_count(function);

    for (unsigned index = 0; index < count;) {
        index += size_bar(host, function, index);
    }
}
