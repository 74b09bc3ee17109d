/* SPDX-License-Identifier: BSD-2-Clause */
/* See ecam.h. This file also contains virtio_platform_pci_map(). */
#include "ecam.h"
#include "devices/include/devices/pci_registers.h"
#include "machine.h"
#include "virtio/network_device.h"

#define SECONDARY_BUS (PCI_BRIDGE_BUSES + 1u)
#define BUS_FUNCTIONS 256u /* 32 devices of 8 functions */
#define LINES         4u
#define ABSENT        0xFFFFu
#define PAGE          UINT64_C(4096) /* BARs are on separate pages, so each can be mapped alone */

/* Assumed upper bound for the size of other functions' BARs. */
#define ASSUMED_BYTES_MAX (UINT64_C(64) * 1024 * 1024)

/* State of a walk over all buses. The walk visits the buses in the order of their numbers. Firmware
 * gives the bus behind a bridge a higher number than the bus that the bridge is on, so the bridge
 * is found first. Each bus is visited once, even if a bridge has an invalid bus number. */
struct walk {
    uintptr_t base;        /* configuration space, mapped */
    bool multi_function;   /* the current device has functions other than function 0 */
    bool exists[256];      /* by bus number: the bus was found behind a bridge, or is bus 0 */
    uint8_t rotation[256]; /* by bus number: rotation of the interrupt lines by the bridges between
                            * bus 0 and this bus (PCI-to-PCI Bridge 1.2, 9.1) */
};

static uint32_t read_bar(struct virtio_pci_function *function, unsigned bar)
{
    return virtio_platform_pci_read(function, (uint16_t)(PCI_BAR + 4 * bar), 4);
}

static void write_bar(struct virtio_pci_function *function, unsigned bar, uint32_t value)
{
    virtio_platform_pci_write(function, (uint16_t)(PCI_BAR + 4 * bar), 4, value);
}

static void write_bars(struct virtio_pci_function *function)
{
    for (unsigned bar = 0; bar < PCI_BARS; bar++) {
        write_bar(function, bar, function->bar[bar]);
    }
}

/* Returns true if the next register contains the upper half of the BAR's address. */
static bool is_wide(const struct virtio_pci_function *function, unsigned bar)
{
    return (function->bar[bar] & (PCI_BAR_IO | PCI_BAR_TYPE)) == PCI_BAR_TYPE_64 &&
           bar + 1 < PCI_BARS;
}

static uint64_t address_of(const struct virtio_pci_function *function, unsigned bar)
{
    uint64_t high = is_wide(function, bar) ? function->bar[bar + 1] : 0;

    return high << 32 | (function->bar[bar] & PCI_BAR_ADDRESS_MASK);
}

/* Writes all ones to the BAR and derives its size from the bits that read as zero
 * (PCI 3.0, 6.2.5.1). Returns 0 if the BAR is not a memory BAR, or if the size is not a power of
 * two below 4 GiB, which the size of every BAR that the driver needs is. */
static uint32_t size_bar(struct virtio_pci_function *function, unsigned bar)
{
    uint32_t bytes;

    write_bar(function, bar, UINT32_MAX);
    bytes = -(read_bar(function, bar) & PCI_BAR_ADDRESS_MASK);
    return (function->bar[bar] & PCI_BAR_IO) == 0 && (bytes & (bytes - 1)) == 0 ? bytes : 0;
}

/* Returns the end of the highest BAR of the function in the window, or `free` if that is higher.
 * The size of a BAR could only be read by disabling the function. An address is a multiple of the
 * size (PCI 3.0, 6.2.5.1), so the lowest set bit of the address is an upper bound. */
static uint64_t end_of_bars(const struct virtio_rtems_pci *pci,
                            struct virtio_pci_function *function, uint64_t free)
{
    for (unsigned bar = 0; bar < PCI_BARS; bar++) {
        uint64_t address = read_bar(function, bar) & PCI_BAR_ADDRESS_MASK;
        uint64_t bytes = address & -address;
        uint64_t end = address + (bytes < ASSUMED_BYTES_MAX ? bytes : ASSUMED_BYTES_MAX);

        if (address - pci->memory < pci->memory_bytes && end > free) {
            free = end;
        }
    }
    return free;
}

/* Gives the BAR the first suitable address from `free` on. Returns the end of the BAR. If the
 * window has no room, it marks the BAR as inaccessible and returns `free`. */
static uint64_t assign_bar(const struct virtio_rtems_pci *pci, struct virtio_pci_function *function,
                           unsigned bar, uint64_t free)
{
    uint64_t bytes = function->bytes[bar];
    uint64_t unit = bytes > PAGE ? bytes : PAGE;
    uint64_t address = (free + unit - 1) & ~(unit - 1);
    uint64_t end = pci->memory + pci->memory_bytes;

    if (address > end || bytes > end - address) {
        function->bytes[bar] = 0; /* inaccessible */
        return free;
    }
    function->bar[bar] |= (uint32_t)address;
    return address + bytes;
}

/* Reads addresses and sizes of the BARs, and gives an address to each memory BAR that has none. The
 * function does not respond to accesses to its BARs meanwhile. */
static void set_up_bars(const struct virtio_rtems_pci *pci, struct virtio_pci_function *function,
                        uint64_t free)
{
    uint32_t command = virtio_platform_pci_read(function, PCI_COMMAND, 2);

    virtio_platform_pci_write(function, PCI_COMMAND, 2,
                              command & ~(PCI_COMMAND_IO | PCI_COMMAND_MEMORY));
    for (unsigned bar = 0; bar < PCI_BARS; bar++) {
        function->bar[bar] = read_bar(function, bar);
    }
    for (unsigned bar = 0; bar < PCI_BARS; bar += is_wide(function, bar) ? 2 : 1) {
        function->bytes[bar] = size_bar(function, bar);
        if (function->bytes[bar] != 0 && address_of(function, bar) == 0) {
            free = assign_bar(pci, function, bar, free);
        }
    }
    write_bars(function);
    virtio_platform_pci_write(function, PCI_COMMAND, 2, command);
}

/* Records the bus behind a bridge, and the rotation of its interrupt lines. */
static void note_bridge(struct walk *walk, struct virtio_pci_function *bridge, unsigned bus,
                        unsigned device)
{
    unsigned secondary = virtio_platform_pci_read(bridge, SECONDARY_BUS, 1);

    if (secondary > bus) {
        walk->exists[secondary] = true;
        walk->rotation[secondary] = (uint8_t)((walk->rotation[bus] + device) % LINES);
    }
}

/* Fills in the function at `place`: bus << 8 | device << 3 | function. Returns false if there is no
 * function, or if it is a bridge. */
static bool read_function(struct walk *walk, unsigned place, struct virtio_pci_function *function)
{
    unsigned bus = place / BUS_FUNCTIONS;
    unsigned device = place / 8 % 32;
    bool first = place % 8 == 0;
    uint32_t header;
    uint32_t pin;

    walk->multi_function = walk->multi_function && !first;
    if (!walk->exists[bus] || !(first || walk->multi_function)) {
        return false;
    }
    *function = (struct virtio_pci_function){.configuration =
                                                 walk->base + (size_t)place * PCI_CONFIG_BYTES};
    function->id = virtio_platform_pci_read(function, PCI_VENDOR_ID, 4);
    if ((uint16_t)function->id == ABSENT) {
        return false;
    }
    header = virtio_platform_pci_read(function, PCI_HEADER_TYPE, 1);
    walk->multi_function = walk->multi_function || (header & PCI_HEADER_MULTI_FUNCTION) != 0;
    if ((header & ~PCI_HEADER_MULTI_FUNCTION) == PCI_HEADER_BRIDGE) {
        note_bridge(walk, function, bus, device);
        return false;
    }
    pin = virtio_platform_pci_read(function, PCI_INTERRUPT_PIN, 1);
    function->has_line = pin >= 1 && pin <= LINES;
    function->line = (uint8_t)((pin - 1 + device + walk->rotation[bus]) % LINES);
    return true;
}

bool ecam_find_network(const struct virtio_rtems_pci *pci, unsigned index,
                       struct virtio_pci_function *function)
{
    struct walk walk = {.exists[0] = true};
    unsigned places = pci->buses * BUS_FUNCTIONS;
    uint64_t free = pci->memory;
    struct virtio_pci_function each;

    function->configuration = 0;
    if (places != 0) {
        walk.base = machine_map_registers(pci->configuration, (size_t)places * PCI_CONFIG_BYTES);
    }
    for (unsigned place = 0; walk.base != 0 && place < places; place++) {
        if (read_function(&walk, place, &each)) {
            free = end_of_bars(pci, &each, free);
            if (virtio_is_network_function(each.id) && index-- == 0) {
                *function = each;
            }
        }
    }
    if (function->configuration == 0) {
        return false;
    }
    set_up_bars(pci, function, free);
    return true;
}

bool ecam_restore(struct virtio_pci_function *function)
{
    if (virtio_platform_pci_read(function, PCI_VENDOR_ID, 4) != function->id) {
        return false;
    }
    write_bars(function);
    virtio_platform_pci_write(function, PCI_COMMAND, 2,
                              virtio_platform_pci_read(function, PCI_COMMAND, 2) |
                                  PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
    return true;
}

virtio_register virtio_platform_pci_map(struct virtio_pci_function *function, unsigned bar,
                                        uint64_t offset, uint64_t length)
{
    uintptr_t mapped;

    if (bar >= PCI_BARS || function->bytes[bar] == 0 || length > function->bytes[bar] ||
        offset > function->bytes[bar] - length) {
        return 0;
    }
    mapped = machine_map_registers(address_of(function, bar), function->bytes[bar]);
    return mapped == 0 ? 0 : mapped + (uintptr_t)offset;
}
