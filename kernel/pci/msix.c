/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * MSI-X (PCI 3.0, 6.8.2; PCI Express Base 4.0, 7.7.2), and the device id of its messages (Linux
 * binding pci-msi).
 */
#include "kernel/devicetree.h"
#include "kernel/interrupt.h"
#include "kernel/pci.h"
#include "pci/pci_private.h"
#include <arch/device_access.h>
#include <devices/pci_registers.h>

/* Returns the requester id with which requests of the function arrive. A conventional bridge, or
 * one from PCI Express to PCI, replaces it by its own (PCI Express to PCI Bridge 1.0, 2.3). */
static uint32_t requester_id(const struct pci_function *function)
{
    uint32_t id =
        (uint32_t)function->bus << 8 | (uint32_t)function->device << 3 | function->function;

    for (const struct pci_function *below = function; below->bridge != NULL;
         below = below->bridge) {
        const struct pci_function *bridge = below->bridge;
        int type = pci_express_type(bridge);

        if (type == (int)PCI_EXPRESS_TO_PCI_BRIDGE) {
            id = (uint32_t)below->bus << 8;
        } else if (type < 0) {
            id = (uint32_t)bridge->bus << 8 | (uint32_t)bridge->device << 3 | bridge->function;
        }
    }
    return id;
}

/* Looks up a requester id in `msi-map`, whose entries are requester id, controller, device id,
 * length.
 */
static bool map_id(const uint32_t *map, unsigned count, uint32_t masked, uint32_t *device_id)
{
    for (; count >= 4; count -= 4, map += 4) {
        uint32_t first = devicetree_cell(map);

        if (masked >= first && masked - first < devicetree_cell(map + 3)) {
            *device_id = devicetree_cell(map + 2) + (masked - first);
            return interrupt_message_controller(devicetree_by_phandle(devicetree_cell(map + 1)));
        }
    }
    return false;
}

/* Writes the device id that the interrupt controller sees. Returns false if the function's messages
 * do not reach the controller that the kernel drives. */
static bool device_id_of(const struct pci_function *function, uint32_t *device_id)
{
    int node = pci_host()->node;
    uint32_t id = requester_id(function);
    unsigned count;
    const uint32_t *cells = devicetree_cells(node, "msi-map", &count);

    if (cells != NULL) {
        return map_id(cells, count, id & devicetree_number(node, "msi-map-mask", UINT32_MAX),
                      device_id);
    }
    cells = devicetree_cells(node, "msi-parent", &count);
    *device_id = id;
    return cells != NULL && count > 0 &&
           interrupt_message_controller(devicetree_by_phandle(devicetree_cell(cells)));
}

void pci_msix_prepare(const struct pci_host *host)
{
    uint32_t highest = 0;
    bool any = false;

    for (const struct pci_function *function = host->first; function != NULL;
         function = function->next) {
        uint32_t device_id;

        if (function->msix_capability != 0 && device_id_of(function, &device_id)) {
            highest = device_id > highest ? device_id : highest;
            any = true;
        }
    }
    if (any) {
        (void)interrupt_message_prepare(highest);
    }
}

static uint32_t read_control(const struct pci_function *function)
{
    return pci_config_read(function, (uint16_t)(function->msix_capability + PCI_MSIX_CONTROL), 2);
}

static void write_control(const struct pci_function *function, uint32_t control)
{
    pci_config_write(function, (uint16_t)(function->msix_capability + PCI_MSIX_CONTROL), 2,
                     control);
}

static unsigned table_size(const struct pci_function *function)
{
    return (read_control(function) & PCI_MSIX_CONTROL_SIZE) + 1;
}

/* Finds the MSI-X table. Returns false unless all of it lies inside a memory BAR. */
static bool locate_table(const struct pci_function *function, unsigned size, unsigned *bar,
                         uint32_t *offset)
{
    uint32_t table =
        pci_config_read(function, (uint16_t)(function->msix_capability + PCI_MSIX_TABLE), 4);
    uint64_t bytes;

    *bar = table & PCI_MSIX_BAR;
    *offset = table & ~PCI_MSIX_BAR;
    if (*bar >= PCI_BAR_COUNT || function->bar[*bar].address == 0) {
        return false;
    }
    bytes = function->bar[*bar].bytes;
    return *offset < bytes && (uint64_t)size * PCI_MSIX_ENTRY_BYTES <= bytes - *offset;
}

unsigned pci_msix_vectors(const struct pci_function *function)
{
    uint32_t device_id, offset;
    unsigned size, bar;

    if (function->msix_capability == 0 || !device_id_of(function, &device_id)) {
        return 0;
    }
    size = table_size(function);
    return locate_table(function, size, &bar, &offset) ? size : 0;
}

/* Returns the address of the vector's entry, 0 if there is none, and enables memory decoding.
 * Writes the table's address to *table and its number of entries to *size. */
static uintptr_t find_entry(struct pci_function *function, unsigned vector, uintptr_t *table,
                            unsigned *size)
{
    uint32_t offset, command;
    unsigned bar;

    if (function->msix_capability == 0) {
        return 0;
    }
    *size = table_size(function);
    if (vector >= *size || !locate_table(function, *size, &bar, &offset)) {
        return 0;
    }
    *table = pci_map_bar(function, bar);
    if (*table == 0) {
        return 0;
    }
    *table += offset;
    command = pci_config_read(function, PCI_COMMAND, 2);
    pci_config_write(function, PCI_COMMAND, 2, command | PCI_COMMAND_MEMORY);
    return *table + (uintptr_t)vector * PCI_MSIX_ENTRY_BYTES;
}

static void set_masked(uintptr_t entry, bool masked)
{
    uintptr_t control = entry + PCI_MSIX_ENTRY_CONTROL;
    uint32_t value = device_read32(control) & ~PCI_MSIX_ENTRY_MASKED;

    device_write32(control, value | (masked ? PCI_MSIX_ENTRY_MASKED : 0));
}

/* Enables MSI-X with every vector masked: the firmware may have left some unmasked. */
static void enable(struct pci_function *function, uintptr_t table, unsigned size)
{
    uint32_t control = read_control(function);

    if ((control & PCI_MSIX_CONTROL_ENABLE) != 0) {
        return;
    }
    write_control(function, control | PCI_MSIX_CONTROL_ENABLE | PCI_MSIX_CONTROL_MASK);
    for (unsigned vector = 0; vector < size; vector++) {
        set_masked(table + (uintptr_t)vector * PCI_MSIX_ENTRY_BYTES, true);
    }
    write_control(function, (control | PCI_MSIX_CONTROL_ENABLE) & ~PCI_MSIX_CONTROL_MASK);
}

enum result pci_msix_attach(struct pci_function *function, unsigned vector,
                            interrupt_handler handler, void *argument)
{
    struct interrupt_message message;
    uint32_t device_id, number;
    unsigned size;
    uintptr_t table, entry = find_entry(function, vector, &table, &size);
    enum result result;

    if (entry == 0) {
        return RESULT_INVALID;
    }
    if (!device_id_of(function, &device_id)) {
        return RESULT_UNSUPPORTED;
    }
    result = interrupt_message_allocate(device_id, vector, &number, &message);
    if (result == RESULT_OK) {
        result = interrupt_attach(number, INTERRUPT_EDGE, handler, argument);
    }
    if (result != RESULT_OK) {
        return result;
    }
    enable(function, table, size);
    /* PCI 3.0, 6.8.2: address and data are changed only while the vector is masked. */
    set_masked(entry, true);
    device_write32(entry + PCI_MSIX_ENTRY_ADDRESS, (uint32_t)message.address);
    device_write32(entry + PCI_MSIX_ENTRY_ADDRESS + 4, (uint32_t)(message.address >> 32));
    device_write32(entry + PCI_MSIX_ENTRY_DATA, message.data);
    set_masked(entry, false);
    return RESULT_OK;
}

enum result pci_msix_number(const struct pci_function *function, unsigned vector, uint32_t *number)
{
    struct interrupt_message message;
    uint32_t device_id;

    if (vector >= pci_msix_vectors(function) || !device_id_of(function, &device_id)) {
        return RESULT_INVALID;
    }
    return interrupt_message_allocate(device_id, vector, number, &message);
}

enum result pci_msix_detach(struct pci_function *function, unsigned vector,
                            interrupt_handler handler, void *argument)
{
    struct interrupt_message message;
    uint32_t device_id, number, control;
    unsigned size;
    uintptr_t table, entry = find_entry(function, vector, &table, &size);
    enum result result;

    if (entry == 0 || !device_id_of(function, &device_id)) {
        return RESULT_INVALID;
    }
    result = interrupt_message_allocate(device_id, vector, &number, &message);
    if (result != RESULT_OK) {
        return result;
    }
    control = device_read32(entry + PCI_MSIX_ENTRY_CONTROL);
    set_masked(entry, true);
    /* A read completes after the messages that were sent before it (PCI Express Base 4.0, 2.4.1),
     * so that none is in flight when the interrupt is detached. */
    (void)device_read32(entry + PCI_MSIX_ENTRY_CONTROL);
    result = interrupt_detach(number, handler, argument);
    if (result != RESULT_OK) {
        device_write32(entry + PCI_MSIX_ENTRY_CONTROL, control);
    }
    return result;
}
