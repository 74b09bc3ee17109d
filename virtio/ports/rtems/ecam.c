/* SPDX-License-Identifier: BSD-2-Clause */
/* See ecam.h. Register numbers are those of PCI 3.0, 6.1 and PCI-to-PCI Bridge 1.2, 3.2. */
#include "ecam.h"
#include "machine.h"
#include "virtio/platform.h"
#include <string.h>

#define VENDOR_ID        0x00u
#define COMMAND          0x04u
#define HEADER_TYPE      0x0Eu
#define BAR_0            0x10u
#define SECONDARY_BUS    0x19u
#define INTERRUPT_PIN    0x3Du
#define CONFIGURATION    4096u /* bytes of a function (PCIe 5.0, 7.2.2) */
#define FUNCTIONS        8u
#define DEVICES          32u
#define LINES            4u
#define ABSENT           0xFFFFu
#define MULTI_FUNCTION   0x80u
#define BRIDGE           0x01u
#define COMMAND_MEMORY   0x2u
#define COMMAND_MASTER   0x4u
#define BAR_PORTS        0x1u
#define BAR_WIDE         0x4u
#define BAR_FLAGS        0xFu
#define PAGE             UINT64_C(4096) /* BARs do not share one, so that each can be given away */
#define DEPTH_MAX        8u             /* bridges in a row; more are not looked behind */
#define NET_TRANSITIONAL 0x1000u        /* VIRTIO 1.3, 4.1.2.1 */
#define NET_MODERN       0x1041u

/* One walk over the bus. */
struct walk {
    const struct virtio_rtems_pci *pci;
    uintptr_t base;     /* configuration space, mapped */
    uint64_t free;      /* in the window: behind all BARs that have an address */
    unsigned countdown; /* network devices to pass over */
    struct virtio_pci_function *found;
    bool done;
    bool seen[256]; /* buses: bridges that claim the same one, or each other's, have it once */
};

static uint16_t bar_offset(unsigned bar)
{
    return (uint16_t)(BAR_0 + 4 * bar);
}

static void write_bar(struct virtio_pci_function *function, unsigned bar, bool wide, uint64_t value)
{
    virtio_platform_pci_write(function, bar_offset(bar), 4, (uint32_t)value);
    if (wide) {
        virtio_platform_pci_write(function, bar_offset(bar + 1), 4, (uint32_t)(value >> 32));
    }
}

static uint64_t read_bar(struct virtio_pci_function *function, unsigned bar, bool wide)
{
    uint64_t low = virtio_platform_pci_read(function, bar_offset(bar), 4) & ~BAR_FLAGS;

    return wide ? low | (uint64_t)virtio_platform_pci_read(function, bar_offset(bar + 1), 4) << 32
                : low;
}

/* Address and size of each memory BAR (PCI 3.0, 6.2.5.1: all ones are written, the size is what
 * does not stick). The function does not answer meanwhile. */
static void read_bars(struct virtio_pci_function *function)
{
    uint32_t command = virtio_platform_pci_read(function, COMMAND, 2);

    virtio_platform_pci_write(function, COMMAND, 2, command & ~COMMAND_MEMORY);
    for (unsigned bar = 0; bar < PCI_BARS; bar++) {
        uint32_t flags = virtio_platform_pci_read(function, bar_offset(bar), 4) & BAR_FLAGS;
        bool wide = (flags & BAR_WIDE) != 0 && bar + 1 < PCI_BARS;
        uint64_t address;
        uint64_t bytes;

        if ((flags & BAR_PORTS) != 0) {
            continue;
        }
        address = read_bar(function, bar, wide);
        write_bar(function, bar, wide, UINT64_MAX);
        bytes = -read_bar(function, bar, wide);
        bytes = wide ? bytes : (uint32_t)bytes;
        write_bar(function, bar, wide, address);
        if ((bytes & (bytes - 1)) == 0) { /* a power of two, or none */
            function->bytes[bar] = bytes;
            function->bar[bar] = bytes == 0 ? 0 : address;
        }
        bar += wide ? 1 : 0;
    }
    virtio_platform_pci_write(function, COMMAND, 2, command);
}

static void assign_bars(struct walk *walk, struct virtio_pci_function *function)
{
    uint64_t end = walk->pci->memory + walk->pci->memory_bytes;

    for (unsigned bar = 0; bar < PCI_BARS; bar++) {
        uint64_t bytes = function->bytes[bar];
        uint64_t unit = bytes > PAGE ? bytes : PAGE;
        uint64_t address = (walk->free + unit - 1) & ~(unit - 1);
        bool wide;

        if (bytes == 0 || function->bar[bar] != 0) {
            continue;
        }
        if (address > end || bytes > end - address) {
            function->bytes[bar] = 0; /* no room: the driver cannot reach it */
            continue;
        }
        wide = (virtio_platform_pci_read(function, bar_offset(bar), 4) & BAR_WIDE) != 0;
        write_bar(function, bar, wide, address);
        function->bar[bar] = address;
        walk->free = address + bytes;
    }
}

/* Asking for sizes stops a function that somebody uses, so the BARs of one that decodes its
 * addresses are presumed to be no larger than this. */
#define PRESUMED_BYTES (UINT64_C(16) * 1024 * 1024)

static void note_taken(struct walk *walk, uint64_t address, uint64_t bytes)
{
    const struct virtio_rtems_pci *pci = walk->pci;

    if (address >= pci->memory && address - pci->memory < pci->memory_bytes &&
        address + bytes > walk->free) {
        walk->free = address + bytes;
    }
}

static void note_all_taken(struct walk *walk, struct virtio_pci_function *function)
{
    bool decodes = (virtio_platform_pci_read(function, COMMAND, 2) & COMMAND_MEMORY) != 0;

    if (!decodes) {
        read_bars(function);
    }
    for (unsigned bar = 0; bar < PCI_BARS; bar++) {
        uint32_t low = virtio_platform_pci_read(function, bar_offset(bar), 4);

        if (!decodes) {
            note_taken(walk, function->bar[bar], function->bytes[bar]);
        } else if ((low & BAR_PORTS) == 0) {
            note_taken(walk, low & ~BAR_FLAGS, PRESUMED_BYTES);
        }
    }
}

static bool is_network(struct virtio_pci_function *function)
{
    return virtio_platform_pci_read(function, VENDOR_ID, 2) == VIRTIO_PCI_VENDOR &&
           (function->device_id == NET_MODERN || function->device_id == NET_TRANSITIONAL);
}

/* `turns`: by how much the bridges above turn the lines (PCI-to-PCI Bridge 1.2, 9.1). */
static void visit(struct walk *walk, struct virtio_pci_function *function, unsigned turns)
{
    uint32_t pin = virtio_platform_pci_read(function, INTERRUPT_PIN, 1);

    function->has_line = pin >= 1 && pin <= LINES;
    function->line = (uint8_t)((pin - 1 + function->device + turns) % LINES);
    function->device_id = (uint16_t)(virtio_platform_pci_read(function, VENDOR_ID, 4) >> 16);
    if (is_network(function) && !walk->done && walk->countdown-- == 0) {
        walk->done = true;
        read_bars(function);
        *walk->found = *function;
    }
    note_all_taken(walk, function);
}

static void walk_bus(struct walk *walk, unsigned bus, unsigned turns, unsigned depth)
{
    walk->seen[bus] = true;
    for (unsigned number = 0; number < DEVICES * FUNCTIONS; number++) {
        struct virtio_pci_function function = {
            .configuration =
                walk->base + ((size_t)bus * DEVICES * FUNCTIONS + number) * CONFIGURATION,
            .bus = (uint8_t)bus,
            .device = (uint8_t)(number / FUNCTIONS),
            .function = (uint8_t)(number % FUNCTIONS),
        };
        uint32_t header;

        if (virtio_platform_pci_read(&function, VENDOR_ID, 2) == ABSENT) {
            number |= function.function == 0 ? FUNCTIONS - 1 : 0;
            continue;
        }
        header = virtio_platform_pci_read(&function, HEADER_TYPE, 1);
        if ((header & ~MULTI_FUNCTION) == BRIDGE) {
            uint32_t behind = virtio_platform_pci_read(&function, SECONDARY_BUS, 1);

            if (behind < walk->pci->buses && !walk->seen[behind] && depth < DEPTH_MAX) {
                walk_bus(walk, behind, turns + function.device, depth + 1);
            }
        } else {
            visit(walk, &function, turns);
        }
        number |= function.function == 0 && (header & MULTI_FUNCTION) == 0 ? FUNCTIONS - 1 : 0;
    }
}

static void enable(struct virtio_pci_function *function)
{
    virtio_platform_pci_write(function, COMMAND, 2,
                              virtio_platform_pci_read(function, COMMAND, 2) | COMMAND_MEMORY |
                                  COMMAND_MASTER);
}

bool ecam_find_network(const struct virtio_rtems_pci *pci, unsigned index,
                       struct virtio_pci_function *function)
{
    struct walk walk = {.pci = pci, .free = pci->memory, .countdown = index, .found = function};

    if (pci->buses == 0) {
        return false;
    }
    walk.base = machine_map_registers(pci->configuration,
                                      (size_t)pci->buses * DEVICES * FUNCTIONS * CONFIGURATION);
    if (walk.base == 0) {
        return false;
    }
    walk_bus(&walk, 0, 0, 0);
    if (!walk.done) {
        return false;
    }
    assign_bars(&walk, function);
    enable(function);
    return true;
}

bool ecam_restore(struct virtio_pci_function *function)
{
    if (virtio_platform_pci_read(function, VENDOR_ID, 4) >> 16 != function->device_id) {
        return false;
    }
    for (unsigned bar = 0; bar < PCI_BARS; bar++) {
        if (function->bytes[bar] != 0) {
            write_bar(function, bar,
                      (virtio_platform_pci_read(function, bar_offset(bar), 4) & BAR_WIDE) != 0,
                      function->bar[bar]);
        }
    }
    enable(function);
    return true;
}

uintptr_t ecam_map(struct virtio_pci_function *function, unsigned bar, uint64_t offset,
                   uint64_t length)
{
    uintptr_t mapped;

    if (bar >= PCI_BARS || function->bar[bar] == 0 || length > function->bytes[bar] ||
        offset > function->bytes[bar] - length) {
        return 0;
    }
    mapped = machine_map_registers(function->bar[bar], (size_t)function->bytes[bar]);
    return mapped == 0 ? 0 : mapped + (uintptr_t)offset;
}
