/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Assigns addresses to BARs: bus by bus, depth first, from the start of the host bridge's windows.
 * So the BARs behind a bridge lie in one range, which the bridge's own windows can describe
 * (PCI-to-PCI Bridge 1.2, 3.2.5.8 and 3.2.5.9).
 */
#include "kernel/print.h"
#include "pci/pci_private.h"
#include <devices/pci_registers.h>

/* Granularity of a bridge's memory windows. */
#define BRIDGE_UNIT UINT64_C(0x100000)
/* Functions do not share pages, so that each function can be assigned to a partition alone. */
#define ALIGNMENT_MIN UINT64_C(4096)
/* 64-bit BARs up to this size are placed in the narrow window while it has room, because addresses
 * above 4 GiB need additional translation tables. */
#define NARROW_PREFERRED (UINT64_C(16) * 1024 * 1024)

/* Aligns the start of the free space. Returns false if that is beyond its end. */
static bool align(struct pci_window *window, uint64_t alignment)
{
    uint64_t next = (window->next + alignment - 1) & ~(alignment - 1);

    if (next < window->next || next > window->end) {
        return false;
    }
    window->next = next;
    return true;
}

/* Assigns naturally aligned space to the BAR. Returns false, and changes nothing, if there is not
 * enough. */
static bool take(struct pci_window *window, struct pci_function *function, unsigned index)
{
    struct pci_bar *bar = &function->bar[index];
    uint64_t before = window->next;

    if (!align(window, bar->bytes > ALIGNMENT_MIN ? bar->bytes : ALIGNMENT_MIN) ||
        bar->bytes > window->end - window->next) {
        window->next = before;
        return false;
    }
    bar->address = window->address + (window->next - window->bus_address);
    pci_write_bar(function, index, window->next);
    window->next += bar->bytes;
    return true;
}

/* Only a bridge's prefetchable window reaches above 4 GiB, and BARs that are not prefetchable must
 * not lie in it. `wide_reachable`: all bridges above have a 64-bit prefetchable window. */
static bool may_be_wide(const struct pci_host *host, const struct pci_function *function,
                        const struct pci_bar *bar, bool wide_reachable)
{
    if (!bar->wide || !wide_reachable) {
        return false;
    }
    return bar->prefetchable || (function->bridge == NULL && !host->wide.prefetchable);
}

static void assign_bar(struct pci_host *host, struct pci_function *function, unsigned index,
                       bool wide_reachable)
{
    const struct pci_bar *bar = &function->bar[index];
    bool wide = may_be_wide(host, function, bar, wide_reachable);
    bool narrow_first = bar->bytes <= NARROW_PREFERRED;

    if (bar->bytes == 0 || bar->address != 0) {
        return;
    }
    if ((wide && !narrow_first && take(&host->wide, function, index)) ||
        take(&host->narrow, function, index) ||
        (wide && narrow_first && take(&host->wide, function, index))) {
        return;
    }
    pci_write_bar(function, index, 0);
    print("pci: no room for BAR %u of %02x:%02x.%u, %llu bytes\n", index, function->bus,
          function->device, function->function, (unsigned long long)bar->bytes);
}

/* Returns true if the bridge's prefetchable window has 64-bit addresses, which the low bits of its
 * base register show (PCI-to-PCI Bridge 1.2, 3.2.5.9). */
static bool passes_wide(const struct pci_function *bridge)
{
    return (pci_config_read(bridge, PCI_BRIDGE_PREFETCH, 4) & 0xF) == 1;
}

/* Encodes a bridge's memory window: base in bits 15:4, limit in 31:20, both in units of 1 MiB. A
 * window whose base is above its limit is closed. */
static uint32_t memory_range(uint64_t start, uint64_t end)
{
    if (start == end) {
        return 0x0000FFF0;
    }
    return (uint32_t)(start >> 16 & 0xFFF0) | (uint32_t)((end - 1) & 0xFFF00000);
}

/* Starts a bridge's range in the window, at a multiple of the granularity. The range is empty if
 * there is no room. */
static uint64_t begin_range(struct pci_window *window)
{
    window->end &= ~(BRIDGE_UNIT - 1);
    if (window->end < window->next || !align(window, BRIDGE_UNIT)) {
        window->end = window->next;
    }
    return window->next;
}

static void open_bridge(const struct pci_function *bridge, const struct pci_host *host,
                        uint64_t narrow_start, uint64_t wide_start)
{
    uint64_t wide_end = host->wide.next;
    bool closed = wide_start == wide_end;
    uint32_t command = pci_config_read(bridge, PCI_COMMAND, 2);

    pci_config_write(bridge, PCI_BRIDGE_IO, 2, 0x00F0); /* closed */
    pci_config_write(bridge, PCI_BRIDGE_MEMORY, 4, memory_range(narrow_start, host->narrow.next));
    pci_config_write(bridge, PCI_BRIDGE_PREFETCH, 4, memory_range(wide_start, wide_end));
    pci_config_write(bridge, PCI_BRIDGE_PREFETCH_BASE, 4,
                     closed ? 0 : (uint32_t)(wide_start >> 32));
    pci_config_write(bridge, PCI_BRIDGE_PREFETCH_LIMIT, 4,
                     closed ? 0 : (uint32_t)((wide_end - 1) >> 32));
    /* Bus mastering makes a bridge forward requests upstream, message-signalled interrupts
     * included. */
    pci_config_write(bridge, PCI_COMMAND, 2, command | PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
}

static void assign_bus(struct pci_host *host, const struct pci_function *bridge,
                       bool wide_reachable);

static void assign_behind(struct pci_host *host, const struct pci_function *bridge,
                          bool wide_reachable)
{
    uint64_t narrow_start = begin_range(&host->narrow);
    uint64_t wide_start = begin_range(&host->wide);

    assign_bus(host, bridge, wide_reachable && passes_wide(bridge));
    (void)align(&host->narrow, BRIDGE_UNIT);
    (void)align(&host->wide, BRIDGE_UNIT);
    open_bridge(bridge, host, narrow_start, wide_start);
}

/* Assigns the functions on one bus, then those behind the bridges on it. */
static void assign_bus(struct pci_host *host, const struct pci_function *bridge,
                       bool wide_reachable)
{
    struct pci_function *function;

    for (function = host->first; function != NULL; function = function->next) {
        if (function->bridge == bridge) {
            for (unsigned index = 0; index < PCI_BAR_COUNT; index++) {
                assign_bar(host, function, index, wide_reachable);
            }
        }
    }
    for (function = host->first; function != NULL; function = function->next) {
        if (function->bridge == bridge && function->header_type == PCI_HEADER_BRIDGE) {
            assign_behind(host, function, wide_reachable);
        }
    }
}

/* Returns the end of the free space that starts at `start`: the next BAR that was kept, or the end
 * of the window. Returns `start` if it lies inside a BAR. */
static uint64_t gap_end(const struct pci_host *host, const struct pci_window *window,
                        uint64_t start)
{
    uint64_t end = window->bus_address + window->bytes;

    for (const struct pci_function *function = host->first; function != NULL;
         function = function->next) {
        for (unsigned index = 0; index < PCI_BAR_COUNT; index++) {
            const struct pci_bar *bar = &function->bar[index];
            uint64_t bar_start = bar->address - window->address + window->bus_address;

            if (bar->address < window->address || bar->address - window->address >= window->bytes) {
                continue;
            }
            if (bar_start <= start && start - bar_start < bar->bytes) {
                return start;
            }
            if (bar_start > start && bar_start < end) {
                end = bar_start;
            }
        }
    }
    return end;
}

static void consider_gap(const struct pci_host *host, struct pci_window *window, uint64_t start)
{
    uint64_t end = gap_end(host, window, start);

    if (end - start > window->end - window->next) {
        window->next = start;
        window->end = end;
    }
}

/* New BARs are placed in the largest gap between the BARs that were kept. */
static void find_free(const struct pci_host *host, struct pci_window *window)
{
    window->next = window->bus_address;
    window->end = window->bus_address;
    consider_gap(host, window, window->bus_address);
    for (const struct pci_function *function = host->first; function != NULL;
         function = function->next) {
        for (unsigned index = 0; index < PCI_BAR_COUNT; index++) {
            const struct pci_bar *bar = &function->bar[index];

            if (bar->address >= window->address && bar->address - window->address < window->bytes) {
                consider_gap(host, window,
                             bar->address - window->address + window->bus_address + bar->bytes);
            }
        }
    }
}

void pci_assign(struct pci_host *host)
{
    find_free(host, &host->narrow);
    find_free(host, &host->wide);
    assign_bus(host, NULL, host->wide.bytes > 0);
}
