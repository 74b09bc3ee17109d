/* SPDX-License-Identifier: BSD-2-Clause */
#include "devices.h"

#include "kernel/devicetree.h"
#include "kernel/interrupt.h"
#include "kernel/print.h"
#include <arch/mmu.h>
#include <string.h>

#define COMPATIBLE   "bulkhead,shared-device"
#define WINDOW_CELLS 6u /* address of the client, address here, bytes: two cells each */

/* A client with a limit may send so much at once. */
#define BURST_MILLISECONDS 10u

static void ring(void *context)
{
    struct device *device = context;

    device->doorbells++;
    (void)semaphore_post(device->wake); /* one post is enough: RESULT_OVERFLOW */
}

/* Returns a property that is a text, NULL if it is none. */
static const char *text_of(int node, const char *name)
{
    unsigned bytes = 0;
    const char *text = devicetree_property(node, name, &bytes);

    return text != NULL && bytes != 0 && memchr(text, '\0', bytes) == text + bytes - 1 ? text
                                                                                       : NULL;
}

static bool has_property(int node, const char *name)
{
    unsigned bytes;

    return devicetree_property(node, name, &bytes) != NULL;
}

static uint64_t two_cells(const uint32_t *cells)
{
    return (uint64_t)devicetree_cell(cells) << 32 | devicetree_cell(cells + 1);
}

/* Reads a number of two cells. Returns false if the property is absent or has another size. */
static bool long_of(int node, const char *name, uint64_t *value)
{
    unsigned count = 0;
    const uint32_t *cells = devicetree_cells(node, name, &count);

    if (cells == NULL || count != 2) {
        return false;
    }
    *value = two_cells(cells);
    return true;
}

/* Maps the windows into the client's memory. */
static const char *map_memory(int node, struct device *device, struct device_memory *memory)
{
    unsigned count = 0;
    const uint32_t *cells = devicetree_cells(node, "bulkhead,memory", &count);

    if (cells == NULL || count == 0 || count % WINDOW_CELLS != 0 ||
        count / WINDOW_CELLS > DEVICE_REGIONS_MAX) {
        return "it has no memory, or too many parts of it";
    }
    memory->count = count / WINDOW_CELLS;
    memory->regions = device->regions;
    for (unsigned i = 0; i < memory->count; i++, cells += WINDOW_CELLS) {
        uint64_t start = two_cells(cells), here = two_cells(cells + 2),
                 bytes = two_cells(cells + 4);

        if (bytes == 0 || start + bytes < start ||
            arch_mmu_map_memory(here, (size_t)bytes) != RESULT_OK) {
            return "the memory of its client can't be mapped";
        }
        device->regions[i] =
            (struct device_memory_region){start, bytes, (uint8_t *)(uintptr_t)here};
    }
    return NULL;
}

static const char *map_page(int node, struct network_client_setup *setup)
{
    uint64_t address, bytes;

    if (devicetree_reg(node, 0, &address, &bytes) != RESULT_OK ||
        bytes < sizeof(struct shared_device_page) ||
        arch_mmu_map_constants(address, (size_t)bytes) != RESULT_OK) {
        return "its page can't be mapped";
    }
    setup->page = (const struct shared_device_page *)(uintptr_t)address;
    return NULL;
}

static const char *read_address(int node, struct network_client_setup *setup)
{
    unsigned bytes = 0;
    const uint8_t *mac = devicetree_property(node, "local-mac-address", &bytes);

    if (mac == NULL || bytes != sizeof(setup->mac)) {
        return "it has no local-mac-address";
    }
    memcpy(setup->mac, mac, sizeof(setup->mac));
    for (unsigned i = 0; i < sizeof(setup->mac); i++) {
        setup->rules.address = setup->rules.address << 8 | mac[i];
    }
    return NULL;
}

/* Reads the rules of the switch and the client's share. */
static void read_rules(int node, struct network_client_setup *setup)
{
    uint64_t burst;

    setup->rules.is_any_address = has_property(node, "bulkhead,any-address");
    if (has_property(node, "bulkhead,all-vlans")) {
        setup->rules.kind = FRAME_SWITCH_TRUNK;
    } else if (has_property(node, "bulkhead,vlan")) {
        setup->rules.kind = FRAME_SWITCH_ACCESS;
        setup->rules.vlan = (uint16_t)devicetree_number(node, "bulkhead,vlan", 0);
    }
    setup->share.weight = devicetree_number(node, "bulkhead,weight", 1);
    if (long_of(node, "bulkhead,rate", &setup->share.rate)) {
        burst = setup->share.rate / 1000 * BURST_MILLISECONDS;
        burst = burst < FAIR_QUEUE_FRAME_BYTES_MAX ? FAIR_QUEUE_FRAME_BYTES_MAX : burst;
        setup->share.burst = burst < INT32_MAX ? (uint32_t)burst : INT32_MAX;
    }
    setup->mtu = (uint16_t)devicetree_number(node, "bulkhead,mtu", 1500);
}

static const char *attach_doorbell(int node, struct device *device)
{
    enum interrupt_trigger trigger;
    uint32_t number;

    return devicetree_interrupt(node, 0, &number, &trigger) == RESULT_OK &&
                   interrupt_attach(number, INTERRUPT_EDGE, ring, device) == RESULT_OK
               ? NULL
               : "its doorbell can't be attached";
}

/* Reads a device. Returns NULL, or a static text that says why it can't be served. */
static const char *read_device(int node, struct device *device, struct network_client_setup *setup)
{
    const char *reason;

    device->client = text_of(node, "bulkhead,client");
    device->index = devicetree_number(node, "bulkhead,device", UINT32_MAX);
    if (device->client == NULL || device->index == UINT32_MAX ||
        !long_of(node, "bulkhead,features", &setup->features)) {
        return "its client, number or features are missing";
    }
    read_rules(node, setup);
    reason = read_address(node, setup);
    reason = reason == NULL ? map_page(node, setup) : reason;
    reason = reason == NULL ? map_memory(node, device, &setup->memory) : reason;
    return reason == NULL ? attach_doorbell(node, device) : reason;
}

static bool is_network(int node)
{
    const char *kind = text_of(node, "bulkhead,kind");

    return kind != NULL && strcmp(kind, "net") == 0;
}

unsigned devices_find(struct device devices[NETWORK_CLIENTS_MAX],
                      struct network_client_setup setups[NETWORK_CLIENTS_MAX],
                      struct semaphore *wake)
{
    unsigned count = 0;

    for (int node = devicetree_next_compatible(-1, COMPATIBLE); node >= 0;
         node = devicetree_next_compatible(node, COMPATIBLE)) {
        const char *name = text_of(node, "label");
        const char *reason = "there are more than 16 network devices";

        name = name == NULL ? "a device without a name" : name;
        if (!is_network(node)) {
            print("backend: %s: it is no network device, and not served\n", name);
            continue;
        }
        if (count < NETWORK_CLIENTS_MAX) {
            memset(&setups[count], 0, sizeof(setups[count]));
            devices[count].name = name;
            devices[count].wake = wake;
            reason = read_device(node, &devices[count], &setups[count]);
        }
        if (reason != NULL) {
            print("backend: %s: not served: %s\n", name, reason);
            continue;
        }
        count++;
    }
    return count;
}
