/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The host bridge: "pci-host-ecam-generic" of the devicetree (Linux binding host-generic-pci; PCI
 * Bus Binding to IEEE 1275, 12 for `ranges`).
 */
#include "kernel/devicetree.h"
#include "kernel/pci.h"
#include "pci/pci_private.h"
#include <devices/pci_registers.h>

#define BUS_BYTES UINT64_C(0x100000)

/* `ranges`: bus address (3 cells), processor's address (1 or 2), size (2). */
#define CHILD_CELLS 3u
#define SIZE_CELLS  2u

#define SPACE(high)     ((high) >> 24 & 3)
#define SPACE_PORTS     1u
#define SPACE_MEMORY_32 2u
#define SPACE_MEMORY_64 3u
/* No BAR is placed at address 0, because a BAR of 0 has no address. */
#define PORTS_FIRST 0x1000u

#define SPACE_PREFETCHABLE (UINT32_C(1) << 30)

static struct pci_host the_host = {.node = -1};

struct pci_host *pci_host(void)
{
    return &the_host;
}

static uint64_t read_number(const uint32_t *cells, unsigned count)
{
    uint64_t number = 0;

    for (unsigned index = 0; index < count; index++) {
        number = number << 32 | devicetree_cell(cells + index);
    }
    return number;
}

/* Uses the window if it is the first of its kind. */
static void add_window(struct pci_host *host, uint32_t space, const struct pci_window *window)
{
    uint64_t end = window->bus_address + window->bytes;
    bool memory = SPACE(space) == SPACE_MEMORY_32 || SPACE(space) == SPACE_MEMORY_64;

    if (window->bytes == 0 || end < window->bus_address ||
        window->address + window->bytes < window->address) {
        return;
    }
    if (SPACE(space) == SPACE_PORTS && host->ports.bytes == 0 && end <= UINT64_C(1) << 32) {
        host->ports = *window;
        host->ports.next = PORTS_FIRST;
    }
    if (!memory) {
        return;
    }
    if (end <= UINT64_C(1) << 32) {
        if (host->narrow.bytes == 0 && !window->prefetchable) {
            host->narrow = *window;
        }
    } else if (host->wide.bytes == 0 && window->bus_address >= UINT64_C(1) << 32) {
        host->wide = *window;
    }
}

static enum result read_ranges(struct pci_host *host)
{
    int parent = devicetree_parent(host->node);
    uint32_t parent_cells = devicetree_number(parent, "#address-cells", 2);
    unsigned count = 0, entry_cells = CHILD_CELLS + parent_cells + SIZE_CELLS;
    const uint32_t *entry = devicetree_cells(host->node, "ranges", &count);

    if (parent < 0 || parent_cells < 1 || parent_cells > 2 || entry == NULL ||
        count % entry_cells != 0 ||
        devicetree_number(host->node, "#address-cells", 0) != CHILD_CELLS ||
        devicetree_number(host->node, "#size-cells", 0) != SIZE_CELLS) {
        return RESULT_INVALID;
    }
    for (; count > 0; count -= entry_cells, entry += entry_cells) {
        uint32_t space = devicetree_cell(entry);
        struct pci_window window = {.bus_address = read_number(entry + 1, 2),
                                    .address = read_number(entry + CHILD_CELLS, parent_cells),
                                    .bytes =
                                        read_number(entry + CHILD_CELLS + parent_cells, SIZE_CELLS),
                                    .prefetchable = (space & SPACE_PREFETCHABLE) != 0};

        if (devicetree_translate(parent, &window.address, window.bytes) == RESULT_OK) {
            add_window(host, space, &window);
        }
    }
    return RESULT_OK;
}

/* Reads `bus-range` (default: all buses), limited to the buses in the ECAM region. */
static enum result read_buses(struct pci_host *host, uint64_t ecam_bytes)
{
    unsigned count;
    const uint32_t *range = devicetree_cells(host->node, "bus-range", &count);
    uint32_t first = 0, last = 255;

    if (range != NULL && count == 2) {
        first = devicetree_cell(range);
        last = devicetree_cell(range + 1);
    }
    if (first > last || last > 255 || ecam_bytes < BUS_BYTES) {
        return RESULT_INVALID;
    }
    if (ecam_bytes / BUS_BYTES <= last - first) {
        last = first + (uint32_t)(ecam_bytes / BUS_BYTES) - 1;
    }
    host->first_bus = (uint8_t)first;
    host->last_bus = (uint8_t)last;
    return RESULT_OK;
}

bool pci_is_present(uint16_t address)
{
    uint32_t vendor;

    if (the_host.node < 0 || address >> 8 < the_host.first_bus ||
        address >> 8 > the_host.last_bus) {
        return false;
    }
    vendor = pci_access_read((uint8_t)(address >> 8), (uint8_t)address, PCI_VENDOR_ID, 2);
    return vendor != 0xFFFF && vendor != 0; /* as in enumerate.c */
}

enum result pci_rescan(void)
{
    struct pci_host *host = &the_host;
    enum result result;

    if (host->node < 0) {
        return RESULT_NOT_FOUND;
    }
    result = pci_enumerate(host);
    pci_assign(host);
    return result;
}

enum result pci_init(void)
{
    struct pci_host *host = &the_host;
    uint64_t ecam, ecam_bytes;
    enum result result;

    host->node = devicetree_next_compatible(-1, "pci-host-ecam-generic");
    if (host->node < 0) {
        return RESULT_NOT_FOUND;
    }
    if (devicetree_reg(host->node, 0, &ecam, &ecam_bytes) != RESULT_OK) {
        return RESULT_INVALID;
    }
    result = read_buses(host, ecam_bytes);
    if (result == RESULT_OK) {
        result = read_ranges(host);
    }
    if (result != RESULT_OK) {
        return result;
    }
    pci_access_init(ecam, host->first_bus);
    result = pci_enumerate(host);
    /* If memory is exhausted, the functions that were found can still be used. */
    pci_assign(host);
    pci_msix_prepare(host);
    return result;
}
