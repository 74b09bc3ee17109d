/* SPDX-License-Identifier: BSD-2-Clause */
/* See ecam.h; virtio_platform_pci_map() is here too. */
#include "ecam.h"
#include "kernel/pci/pci_registers.h"
#include "machine.h"
#include "virtio/pci.h"

#define SECONDARY_BUS    (PCI_BRIDGE_BUSES + 1u)
#define BUS_FUNCTIONS    256u /* 32 devices of 8 functions */
#define LINES            4u
#define ABSENT           0xFFFFu
#define PAGE             UINT64_C(4096) /* BARs do not share one, so that each can be given away */
#define NET_TRANSITIONAL 0x1000u        /* VIRTIO 1.3, 4.1.2.1 */
#define NET_MODERN       0x1041u

/* BARs of others are presumed to be no larger than this. */
#define PRESUMED_BYTES (UINT64_C(64) * 1024 * 1024)

/* One walk over the bus. Buses are looked at in the order of their numbers, each once, whatever
 * bridges claim: firmware gives a bus behind a bridge a higher number than the bridge's own. */
struct walk {
    const struct virtio_rtems_pci *pci;
    uintptr_t base; /* configuration space, mapped */
    unsigned next;  /* function to look at: bus << 8 | device << 3 | function */
    uint64_t free;  /* in the window: behind all BARs that have an address */
    bool numbered[256];
    uint8_t turns[256]; /* by how much the bridges above turn the lines (PCI-to-PCI Bridge 1.2, 9.1)
                         */
};

static uint16_t bar_offset(unsigned bar)
{
    return (uint16_t)(PCI_BAR + 4 * bar);
}

static void write_bar(struct virtio_pci_function *function, unsigned bar)
{
    virtio_platform_pci_write(function, bar_offset(bar), 4, (uint32_t)function->bar[bar]);
    if (function->wide[bar]) {
        virtio_platform_pci_write(function, bar_offset(bar + 1), 4,
                                  (uint32_t)(function->bar[bar] >> 32));
    }
}

/* PCI 3.0, 6.2.5.1: all ones are written, the size is what does not stick. 0: no power of two below
 * 4 GiB, which no BAR of the driver's has. */
static uint32_t size_bar(struct virtio_pci_function *function, unsigned bar, uint32_t old)
{
    uint32_t bytes;

    virtio_platform_pci_write(function, bar_offset(bar), 4, UINT32_MAX);
    bytes = -(virtio_platform_pci_read(function, bar_offset(bar), 4) & PCI_BAR_ADDRESS_MASK);
    virtio_platform_pci_write(function, bar_offset(bar), 4, old);
    return (bytes & (bytes - 1)) == 0 ? bytes : 0;
}

static void read_bar(struct virtio_pci_function *function, unsigned bar)
{
    uint32_t low = virtio_platform_pci_read(function, bar_offset(bar), 4);

    if ((low & PCI_BAR_IO) != 0) {
        return;
    }
    function->wide[bar] = (low & PCI_BAR_TYPE) == PCI_BAR_TYPE_64 && bar + 1 < PCI_BARS;
    function->bytes[bar] = size_bar(function, bar, low);
    if (function->bytes[bar] == 0) {
        return;
    }
    function->bar[bar] = low & PCI_BAR_ADDRESS_MASK;
    if (function->wide[bar]) {
        function->bar[bar] |= (uint64_t)virtio_platform_pci_read(function, bar_offset(bar + 1), 4)
                              << 32;
    }
}

/* Addresses and sizes. The function does not answer meanwhile. */
static void read_bars(struct virtio_pci_function *function)
{
    uint32_t command = virtio_platform_pci_read(function, PCI_COMMAND, 2);

    virtio_platform_pci_write(function, PCI_COMMAND, 2, command & ~PCI_COMMAND_MEMORY);
    for (unsigned bar = 0; bar < PCI_BARS; bar += function->wide[bar] ? 2 : 1) {
        read_bar(function, bar);
    }
    virtio_platform_pci_write(function, PCI_COMMAND, 2, command);
}

/* What the function has of the window. To ask it for sizes would stop it; but an address is a
 * multiple of the size (PCI 3.0, 6.2.5.1), so that its lowest bit bounds it. */
static void note_taken(struct walk *walk, struct virtio_pci_function *function)
{
    for (unsigned bar = 0; bar < PCI_BARS; bar++) {
        uint64_t address =
            virtio_platform_pci_read(function, bar_offset(bar), 4) & PCI_BAR_ADDRESS_MASK;
        uint64_t bytes = address & -address;
        uint64_t end = address + (bytes < PRESUMED_BYTES ? bytes : PRESUMED_BYTES);

        if (address - walk->pci->memory < walk->pci->memory_bytes && end > walk->free) {
            walk->free = end;
        }
    }
}

static void assign_bars(const struct walk *walk, struct virtio_pci_function *function)
{
    uint64_t end = walk->pci->memory + walk->pci->memory_bytes;
    uint64_t free = walk->free;

    for (unsigned bar = 0; bar < PCI_BARS; bar++) {
        uint64_t bytes = function->bytes[bar];
        uint64_t unit = bytes > PAGE ? bytes : PAGE;
        uint64_t address = (free + unit - 1) & ~(unit - 1);

        if (bytes == 0 || function->bar[bar] != 0) {
            continue;
        }
        if (address > end || bytes > end - address) {
            function->bytes[bar] = 0; /* no room: the driver cannot reach it */
            continue;
        }
        function->bar[bar] = address;
        write_bar(function, bar);
        free = address + bytes;
    }
}

/* A bridge tells the number of the bus behind it, and how that one's lines arrive. */
static void note_bridge(struct walk *walk, struct virtio_pci_function *bridge, unsigned bus,
                        unsigned device)
{
    unsigned behind = virtio_platform_pci_read(bridge, SECONDARY_BUS, 1);

    if (behind > bus) {
        walk->numbered[behind] = true;
        walk->turns[behind] = (uint8_t)((walk->turns[bus] + device) % LINES);
    }
}

/* The next function that is no bridge; false: there are no more. */
static bool next_function(struct walk *walk, struct virtio_pci_function *function)
{
    while (walk->next < walk->pci->buses * BUS_FUNCTIONS) {
        unsigned place = walk->next++;
        unsigned bus = place / BUS_FUNCTIONS;
        unsigned device = place / 8 % 32;
        uint32_t pin;
        uint32_t header;

        if (!walk->numbered[bus]) {
            walk->next = (bus + 1) * BUS_FUNCTIONS;
            continue;
        }
        *function = (struct virtio_pci_function){.configuration =
                                                     walk->base + (size_t)place * PCI_CONFIG_BYTES};
        function->id = virtio_platform_pci_read(function, PCI_VENDOR_ID, 4);
        header = virtio_platform_pci_read(function, PCI_HEADER_TYPE, 1);
        if (place % 8 == 0 &&
            ((uint16_t)function->id == ABSENT || (header & PCI_HEADER_MULTI_FUNCTION) == 0)) {
            walk->next = place + 8;
        }
        if ((uint16_t)function->id == ABSENT) {
            continue;
        }
        if ((header & ~PCI_HEADER_MULTI_FUNCTION) == PCI_HEADER_BRIDGE) {
            note_bridge(walk, function, bus, device);
            continue;
        }
        pin = virtio_platform_pci_read(function, PCI_INTERRUPT_PIN, 1);
        function->has_line = pin >= 1 && pin <= LINES;
        function->line = (uint8_t)((pin - 1 + device + walk->turns[bus]) % LINES);
        return true;
    }
    return false;
}

static bool is_network(const struct virtio_pci_function *function)
{
    return (uint16_t)function->id == VIRTIO_PCI_VENDOR &&
           (function->id >> 16 == NET_MODERN || function->id >> 16 == NET_TRANSITIONAL);
}

bool ecam_find_network(const struct virtio_rtems_pci *pci, unsigned index,
                       struct virtio_pci_function *function)
{
    struct walk walk = {.pci = pci, .free = pci->memory, .numbered[0] = true};
    struct virtio_pci_function each;

    function->configuration = 0;
    if (pci->buses != 0) {
        walk.base = machine_map_registers(pci->configuration,
                                          (size_t)pci->buses * BUS_FUNCTIONS * PCI_CONFIG_BYTES);
    }
    while (walk.base != 0 && next_function(&walk, &each)) {
        note_taken(&walk, &each);
        if (is_network(&each) && index-- == 0) {
            read_bars(&each);
            *function = each;
        }
    }
    if (function->configuration == 0) {
        return false;
    }
    assign_bars(&walk, function);
    return true;
}

bool ecam_restore(struct virtio_pci_function *function)
{
    if (virtio_platform_pci_read(function, PCI_VENDOR_ID, 4) != function->id) {
        return false;
    }
    for (unsigned bar = 0; bar < PCI_BARS; bar++) {
        if (function->bytes[bar] != 0) {
            write_bar(function, bar);
        }
    }
    virtio_platform_pci_write(function, PCI_COMMAND, 2,
                              virtio_platform_pci_read(function, PCI_COMMAND, 2) |
                                  PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
    return true;
}

virtio_register virtio_platform_pci_map(struct virtio_pci_function *function, unsigned bar,
                                        uint64_t offset, uint64_t length)
{
    uintptr_t mapped;

    if (bar >= PCI_BARS || function->bar[bar] == 0 || length > function->bytes[bar] ||
        offset > function->bytes[bar] - length) {
        return 0;
    }
    mapped = machine_map_registers(function->bar[bar], (size_t)function->bytes[bar]);
    return mapped == 0 ? 0 : mapped + (uintptr_t)offset;
}
