/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Finds the functions, bus by bus, depth first, and numbers the buses behind bridges
 * (PCI-to-PCI Bridge 1.2, 3.2.5). An absent function costs one read. Functions, buses and levels of
 * bridges beyond the limits are ignored, so that a malicious device cannot prolong the search.
 */
#include "kernel/memory.h"
#include "kernel/print.h"
#include "pci/pci_private.h"
#include <devices/pci_registers.h>

#define FUNCTIONS_MAX 128u
#define DEPTH_MAX     8u

struct enumeration {
    struct pci_host *host;
    unsigned next_bus; /* number for the next bus found */
    enum result result;
};

static enum result add(struct pci_host *host, const struct pci_function *found)
{
    struct pci_function *function;

    if (host->function_count == FUNCTIONS_MAX) {
        print("pci: more than %u functions: the rest is ignored\n", FUNCTIONS_MAX);
        return RESULT_OVERFLOW;
    }
    function = heap_allocate(sizeof(*function));
    if (function == NULL) {
        return RESULT_NO_MEMORY;
    }
    *function = *found;
    if (host->last == NULL) {
        host->first = function;
    } else {
        host->last->next = function;
    }
    host->last = function;
    host->function_count++;
    return RESULT_OK;
}

/* Disables decoding and bus mastering: the firmware, or the system that ran before, may have left
 * the function active. */
static void quiesce(const struct pci_function *function)
{
    uint32_t command = pci_config_read(function, PCI_COMMAND, 2);

    command &= ~(PCI_COMMAND_IO | PCI_COMMAND_MEMORY | PCI_COMMAND_MASTER);
    pci_config_write(function, PCI_COMMAND, 2, command | PCI_COMMAND_INTX_DISABLE);
    if (function->msix_capability != 0) {
        pci_config_write(function, (uint16_t)(function->msix_capability + PCI_MSIX_CONTROL), 2, 0);
    }
}

/* Adds the function to the list if it is present. */
static bool probe(struct pci_function *function)
{
    uint32_t id = pci_config_read(function, PCI_VENDOR_ID, 4);

    /* No vendor id is 0xFFFF (PCI 3.0, 6.1). Faulty bridges return 0. */
    if ((id & 0xFFFF) == 0xFFFF || (id & 0xFFFF) == 0) {
        return false;
    }
    function->vendor_id = (uint16_t)id;
    function->device_id = (uint16_t)(id >> 16);
    function->class_code = pci_config_read(function, PCI_CLASS, 4);
    function->header_type = (uint8_t)pci_config_read(function, PCI_HEADER_TYPE, 1);
    return true;
}

/* Returns true if an earlier enumeration has found the function. */
static bool is_known(const struct pci_host *host, const struct pci_function *function)
{
    for (const struct pci_function *known = host->first; known != NULL; known = known->next) {
        if (known->bus == function->bus && known->device == function->device &&
            known->function == function->function) {
            return true;
        }
    }
    return false;
}

static void take_in(struct enumeration *state, struct pci_function *function)
{
    function->msix_capability = pci_find_capability(function, PCI_CAPABILITY_MSIX);
    quiesce(function);
    if (function->header_type == PCI_HEADER_BRIDGE) {
        /* The bridge claims no bus until its own buses are numbered. */
        pci_config_write(function, PCI_BRIDGE_BUSES, 4,
                         pci_config_read(function, PCI_BRIDGE_BUSES, 4) & 0xFF000000);
    }
    pci_size_bars(state->host, function);
    state->result = add(state->host, function);
}

static void scan_device(struct enumeration *state, uint8_t bus, struct pci_function *bridge,
                        uint8_t device)
{
    unsigned count = 1;

    for (uint8_t index = 0; index < count && state->result == RESULT_OK; index++) {
        struct pci_function function = {
            .bus = bus, .device = device, .function = index, .bridge = bridge};

        if (!is_known(state->host, &function) && probe(&function)) {
            if (index == 0 && (function.header_type & PCI_HEADER_MULTI_FUNCTION) != 0) {
                count = 8;
            }
            function.header_type &= (uint8_t)~PCI_HEADER_MULTI_FUNCTION;
            take_in(state, &function);
        }
    }
}

/* Returns the number of devices that can exist behind the bridge: only device 0 behind a root or
 * downstream port (PCI Express Base 4.0, 7.3.1). */
static unsigned devices_behind(const struct pci_function *bridge)
{
    int type = bridge == NULL ? -1 : pci_express_type(bridge);

    return type == (int)PCI_EXPRESS_ROOT_PORT || type == (int)PCI_EXPRESS_DOWNSTREAM_PORT ? 1 : 32;
}

static void write_buses(const struct pci_function *bridge, unsigned secondary, unsigned subordinate)
{
    uint32_t latency = pci_config_read(bridge, PCI_BRIDGE_BUSES, 4) & 0xFF000000;

    pci_config_write(bridge, PCI_BRIDGE_BUSES, 4,
                     latency | subordinate << 16 | secondary << 8 | bridge->bus);
}

static void scan_bus(struct enumeration *state, uint8_t bus, struct pci_function *bridge,
                     unsigned depth);

static void scan_behind(struct enumeration *state, struct pci_function *bridge, unsigned depth)
{
    unsigned secondary = state->next_bus;

    if (depth == DEPTH_MAX || secondary > state->host->last_bus) {
        print("pci: no bus number is left for the bus behind %02x:%02x.%u\n", bridge->bus,
              bridge->device, bridge->function);
        return;
    }
    state->next_bus++;
    write_buses(bridge, secondary, state->host->last_bus);
    scan_bus(state, (uint8_t)secondary, bridge, depth + 1);
    write_buses(bridge, secondary, state->next_bus - 1);
}

static void scan_bus(struct enumeration *state, uint8_t bus, struct pci_function *bridge,
                     unsigned depth)
{
    unsigned devices = devices_behind(bridge);
    struct pci_function *before = state->host->last;
    struct pci_function *function;

    for (unsigned device = 0; device < devices && state->result == RESULT_OK; device++) {
        scan_device(state, bus, bridge, (uint8_t)device);
    }
    function = before == NULL ? state->host->first : before->next;
    /* The functions that the recursion below appends are on other buses. */
    for (; function != NULL && function->bus == bus; function = function->next) {
        if (function->header_type == PCI_HEADER_BRIDGE && state->result == RESULT_OK) {
            scan_behind(state, function, depth);
        }
    }
}

enum result pci_enumerate(struct pci_host *host)
{
    struct enumeration state = {.host = host, .next_bus = host->first_bus + 1u};

    scan_bus(&state, host->first_bus, NULL, 1);
    return state.result == RESULT_OVERFLOW ? RESULT_OK : state.result;
}
