/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Enumerates PCI like firmware: numbers the buses depth first, places BARs in one memory window and
 * one I/O window, and opens the windows of bridges.
 */
#include "qtest.h"
#include <stdlib.h>

enum {
    VENDOR_ID = 0x00,
    DEVICE_ID = 0x02,
    COMMAND = 0x04,
    CLASS = 0x0a,
    HEADER_TYPE = 0x0e,
    BAR = 0x10,
    BRIDGE_BUSES = 0x18,
    BRIDGE_PORTS = 0x1c,
    BRIDGE_MEMORY = 0x20,
    BRIDGE_PREFETCHABLE = 0x24,
    CAPABILITIES = 0x34,
    INTERRUPT_PIN = 0x3d,
};

#define COMMAND_ON         0x7u /* I/O, memory, bus master */
#define BAR_PORTS          0x1u
#define BAR_WIDE           0x4u
#define CLASS_BRIDGE       0x0604u
#define CAPABILITY_MSIX    0x11u
#define CAPABILITIES_MAX   48u
#define MSIX_CONTROL       2u
#define MSIX_TABLE         4u
#define MSIX_ENABLE        0x8000u
#define MSIX_ENTRY_BYTES   16u
#define MEMORY_GRANULE     0x100000u
#define PORTS_GRANULE      0x1000u
#define CONFIGURATION_PORT (QTEST_PORT + 0xcf8)
#define DATA_PORT          (QTEST_PORT + 0xcfc)

static struct {
    struct virtio_pci_function function[QTEST_FUNCTIONS_MAX];
    unsigned functions;
    uint64_t memory; /* next free address of each window */
    uint32_t ports;
    unsigned buses;
    uint32_t *messages; /* target of the MSI-X vectors, one word each */
    virtio_address messages_address;
} pci;

static virtio_register configuration(const struct virtio_pci_function *function, unsigned offset)
{
    const struct qtest_machine *machine = qtest_attached();
    unsigned place =
        (unsigned)function->bus << 8 | (unsigned)function->device << 3 | function->function;

    if (machine->configuration != 0) {
        return machine->configuration + ((uint64_t)place << 12) + offset;
    }
    qtest_write(CONFIGURATION_PORT, 4, 0x80000000u | place << 8 | (offset & 0xfcu));
    return DATA_PORT + (offset & 3u);
}

uint32_t virtio_platform_pci_read(struct virtio_pci_function *function, uint16_t offset,
                                  unsigned bytes)
{
    return qtest_read(configuration(function, offset), bytes);
}

void virtio_platform_pci_write(struct virtio_pci_function *function, uint16_t offset,
                               unsigned bytes, uint32_t value)
{
    qtest_write(configuration(function, offset), bytes, value);
}

virtio_register virtio_platform_pci_map(struct virtio_pci_function *function, unsigned bar,
                                        uint64_t offset, uint64_t length)
{
    if (bar >= QTEST_BARS || function->bar[bar].reg == 0 || length > function->bar[bar].bytes ||
        offset > function->bar[bar].bytes - length) {
        return 0;
    }
    return function->bar[bar].reg + (virtio_register)offset;
}

static uint64_t align_up(uint64_t value, uint64_t alignment)
{
    return (value + alignment - 1) & ~(alignment - 1);
}

static void place_ports(struct virtio_pci_function *function, unsigned index, uint32_t mask)
{
    uint64_t window = qtest_attached()->pci_ports;
    uint32_t bytes = (~(mask & ~3u) + 1u) & 0xffffu;

    pci.ports = (uint32_t)align_up(pci.ports, bytes);
    virtio_platform_pci_write(function, (uint16_t)(BAR + 4 * index), 4, pci.ports);
    function->bar[index].reg = (window != 0 ? window : QTEST_PORT) + pci.ports;
    function->bar[index].bytes = bytes;
    pci.ports += bytes;
}

static void place_memory(struct virtio_pci_function *function, unsigned index, uint32_t mask)
{
    uint32_t bytes = ~(mask & ~15u) + 1u;

    pci.memory = align_up(pci.memory, bytes);
    virtio_platform_pci_write(function, (uint16_t)(BAR + 4 * index), 4, (uint32_t)pci.memory);
    if ((mask & BAR_WIDE) != 0) {
        virtio_platform_pci_write(function, (uint16_t)(BAR + 4 * index + 4), 4, 0);
    }
    function->bar[index].reg = (virtio_register)pci.memory;
    function->bar[index].bytes = bytes;
    pci.memory += bytes;
}

static void place_bars(struct virtio_pci_function *function)
{
    for (unsigned index = 0; index < (function->bridge ? 2 : QTEST_BARS); index++) {
        uint16_t offset = (uint16_t)(BAR + 4 * index);
        uint32_t mask;

        virtio_platform_pci_write(function, offset, 4, UINT32_MAX);
        mask = virtio_platform_pci_read(function, offset, 4);
        if (mask == 0) {
            continue;
        }
        if ((mask & BAR_PORTS) != 0) {
            place_ports(function, index, mask);
        } else {
            place_memory(function, index, mask);
            index += (mask & BAR_WIDE) != 0;
        }
    }
}

static uint16_t find_msix(struct virtio_pci_function *function)
{
    uint16_t cap = (uint16_t)virtio_platform_pci_read(function, CAPABILITIES, 1) & 0xfcu;

    for (unsigned i = 0; i < CAPABILITIES_MAX && cap != 0; i++) {
        if (virtio_platform_pci_read(function, cap, 1) == CAPABILITY_MSIX) {
            return cap;
        }
        cap = (uint16_t)virtio_platform_pci_read(function, (uint16_t)(cap + 1), 1) & 0xfcu;
    }
    return 0;
}

static void scan_bus(unsigned bus, unsigned swizzle, bool root);

/* Enumerates the bus behind the bridge first, because its size determines the bridge's windows. */
static void open_bridge(struct virtio_pci_function *bridge, unsigned swizzle)
{
    unsigned bus = ++pci.buses;
    uint32_t ports;
    uint32_t memory;

    pci.memory = align_up(pci.memory, MEMORY_GRANULE);
    pci.ports = (uint32_t)align_up(pci.ports, PORTS_GRANULE);
    memory = (uint32_t)pci.memory;
    ports = pci.ports;
    virtio_platform_pci_write(bridge, BRIDGE_BUSES, 4, 0xff0000u | bus << 8 | bridge->bus);
    scan_bus(bus, swizzle, false);
    virtio_platform_pci_write(bridge, BRIDGE_BUSES, 4, pci.buses << 16 | bus << 8 | bridge->bus);
    pci.memory = align_up(pci.memory, MEMORY_GRANULE);
    pci.ports = (uint32_t)align_up(pci.ports, PORTS_GRANULE);
    /* A window whose limit is below its base is closed. */
    virtio_platform_pci_write(bridge, BRIDGE_PORTS, 2, ((pci.ports - 1) & 0xf000u) | ports >> 8);
    virtio_platform_pci_write(bridge, BRIDGE_MEMORY, 4,
                              ((uint32_t)(pci.memory - 1) & 0xfff00000u) | memory >> 16);
    virtio_platform_pci_write(bridge, BRIDGE_PREFETCHABLE, 4, 0x0000fff0u);
    virtio_platform_pci_write(bridge, COMMAND, 2, COMMAND_ON);
}

/* `swizzle`: offset that the bridges above add to the number of an interrupt pin. */
static void add_function(const struct virtio_pci_function *place, unsigned swizzle, bool root)
{
    struct virtio_pci_function *function = &pci.function[pci.functions];
    unsigned pin;

    if (pci.functions == QTEST_FUNCTIONS_MAX) {
        abort();
    }
    pci.functions++;
    *function = *place;
    function->vendor_id = (uint16_t)virtio_platform_pci_read(function, VENDOR_ID, 2);
    function->device_id = (uint16_t)virtio_platform_pci_read(function, DEVICE_ID, 2);
    function->bridge = virtio_platform_pci_read(function, CLASS, 2) == CLASS_BRIDGE;
    pin = virtio_platform_pci_read(function, INTERRUPT_PIN, 1);
    pin = (pin == 0 ? 0 : pin - 1) + function->device + swizzle;
    function->line = qtest_attached()->intx_line + pin % 4;
    /* Devices of the chip set keep their fixed addresses. */
    if (!root || qtest_attached()->configuration != 0 || function->device < 0x1f) {
        place_bars(function);
    }
    function->msix = find_msix(function);
    if (function->bridge) {
        open_bridge(function, swizzle + function->device);
    }
}

static void scan_bus(unsigned bus, unsigned swizzle, bool root)
{
    for (unsigned device = 0; device < 32; device++) {
        struct virtio_pci_function place = {.bus = (uint8_t)bus, .device = (uint8_t)device};
        bool multiple;

        if (virtio_platform_pci_read(&place, VENDOR_ID, 2) == 0xffff) {
            continue;
        }
        multiple = (virtio_platform_pci_read(&place, HEADER_TYPE, 1) & 0x80u) != 0;
        for (unsigned function = 0; function < (multiple ? 8 : 1); function++) {
            place.function = (uint8_t)function;
            if (virtio_platform_pci_read(&place, VENDOR_ID, 2) != 0xffff) {
                add_function(&place, swizzle, root);
            }
        }
    }
}

unsigned qtest_pci_enumerate(void)
{
    pci.memory = qtest_attached()->pci_memory;
    pci.ports = PORTS_GRANULE;
    pci.messages = virtio_platform_dma_allocate(QTEST_VECTORS * sizeof(*pci.messages),
                                                sizeof(*pci.messages), &pci.messages_address);
    scan_bus(0, 0, true);
    return pci.functions;
}

struct virtio_pci_function *qtest_pci_function(unsigned index)
{
    return index < pci.functions ? &pci.function[index] : NULL;
}

unsigned qtest_msix_enable(struct virtio_pci_function *function, unsigned vectors)
{
    uint32_t control = virtio_platform_pci_read(function, function->msix + MSIX_CONTROL, 2);
    uint32_t table = virtio_platform_pci_read(function, function->msix + MSIX_TABLE, 4);
    unsigned size = (control & 0x7ffu) + 1;
    virtio_register entry;

    vectors = vectors < size ? vectors : size;
    /* The table is accessible only while decoding is on, which the driver's probe enables later. */
    virtio_platform_pci_write(function, COMMAND, 2,
                              virtio_platform_pci_read(function, COMMAND, 2) | 2u);
    entry = virtio_platform_pci_map(function, table & 7u, table & ~7u,
                                    (uint64_t)size * MSIX_ENTRY_BYTES);
    if (function->msix == 0 || entry == 0 || vectors > QTEST_VECTORS) {
        return 0;
    }
    virtio_platform_pci_write(function, function->msix + MSIX_CONTROL, 2, control | MSIX_ENABLE);
    for (unsigned vector = 0; vector < size; vector++, entry += MSIX_ENTRY_BYTES) {
        if (vector < vectors) {
            qtest_write(entry, 4,
                        (uint32_t)(pci.messages_address + vector * sizeof(*pci.messages)));
            qtest_write(entry + 4, 4, 0);
            qtest_write(entry + 8, 4, 1);
        }
        qtest_write(entry + 12, 4, vector >= vectors);
    }
    return vectors;
}

void qtest_msix_disable(struct virtio_pci_function *function)
{
    uint32_t control = virtio_platform_pci_read(function, function->msix + MSIX_CONTROL, 2);

    virtio_platform_pci_write(function, function->msix + MSIX_CONTROL, 2, control & ~MSIX_ENABLE);
}

bool qtest_msix_take(unsigned vector)
{
    return vector < QTEST_VECTORS &&
           __atomic_exchange_n(&pci.messages[vector], 0, __ATOMIC_ACQUIRE) != 0;
}
