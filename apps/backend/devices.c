/* SPDX-License-Identifier: BSD-2-Clause */
#include "devices.h"

#include "kernel/devicetree.h"
#include "kernel/interrupt.h"
#include "kernel/print.h"
#include "kernel/time.h"
#include <arch/hypercalls.h>
#include <arch/hypervisor_call.h>
#include <arch/mmu.h>
#include <string.h>

#define COMPATIBLE   "bulkhead,shared-device"
#define WINDOW_CELLS 6u /* address of the client, address here, bytes: two cells each */

#define INTERRUPT_USED 1u /* of CALL_SHARED_DEVICE_INTERRUPT */

static bool load_flag(const bool *flag)
{
    return __atomic_load_n(flag, __ATOMIC_ACQUIRE);
}

/* NOLINTNEXTLINE(readability-non-const-parameter): the builtin writes to it */
static void store_flag(bool *flag, bool value)
{
    __atomic_store_n(flag, value, __ATOMIC_RELEASE);
}

/* Not masked the first time, because a driver that obeys the suppression rings no second time. */
static void ring(void *context)
{
    struct device *device = context;

    device->doorbells++;
    if (load_flag(&device->has_rung)) {
        (void)interrupt_mask(device->doorbell);
        store_flag(&device->is_masked, true);
    }
    store_flag(&device->has_rung, true);
    (void)semaphore_post(device->wake); /* one post is enough: RESULT_OVERFLOW */
}

bool devices_arm(struct device *devices, unsigned count)
{
    bool was_masked = false;

    for (unsigned i = 0; i < count; i++) {
        struct device *device = &devices[i];

        store_flag(&device->has_rung, false);
        if (load_flag(&device->is_masked)) {
            was_masked = true;
            store_flag(&device->is_masked, false);
            (void)interrupt_unmask(device->doorbell);
        }
    }
    return was_masked;
}

const char *devices_text(int node, const char *name)
{
    unsigned bytes = 0;
    const char *text = devicetree_property(node, name, &bytes);

    return text != NULL && bytes != 0 && memchr(text, '\0', bytes) == text + bytes - 1 ? text
                                                                                       : NULL;
}

static uint64_t two_cells(const uint32_t *cells)
{
    return (uint64_t)devicetree_cell(cells) << 32 | devicetree_cell(cells + 1);
}

bool devices_numbers(int node, const char *name, uint64_t *values, unsigned count)
{
    unsigned found = 0;
    const uint32_t *cells = devicetree_cells(node, name, &found);

    if (cells == NULL || found != 2 * count) {
        return false;
    }
    for (unsigned i = 0; i < count; i++) {
        values[i] = two_cells(cells + (size_t)2 * i);
    }
    return true;
}

/* Maps the windows into the client's memory. */
static const char *map_memory(int node, struct device *device)
{
    struct device_memory *memory = &device->memory;
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

static const char *map_page(int node, struct device *device)
{
    uint64_t address, bytes;

    if (devicetree_reg(node, 0, &address, &bytes) != RESULT_OK ||
        bytes < sizeof(struct shared_device_page) ||
        arch_mmu_map_constants(address, (size_t)bytes) != RESULT_OK) {
        return "its page can't be mapped";
    }
    device->page = (const struct shared_device_page *)(uintptr_t)address;
    return NULL;
}

static const char *attach_doorbell(int node, struct device *device)
{
    enum interrupt_trigger trigger;

    return devicetree_interrupt(node, 0, &device->doorbell, &trigger) == RESULT_OK &&
                   interrupt_attach(device->doorbell, INTERRUPT_EDGE, ring, device) == RESULT_OK
               ? NULL
               : "its doorbell can't be attached";
}

/* Reads a device. Returns NULL, or a static text that says why it can't be served. */
static const char *read_device(int node, unsigned number, struct device *device, device_reader read)
{
    const char *reason;

    device->client = devices_text(node, "bulkhead,client");
    device->index = devicetree_number(node, "bulkhead,device", UINT32_MAX);
    if (device->client == NULL || device->index == UINT32_MAX ||
        !devices_numbers(node, "bulkhead,features", &device->features, 1)) {
        return "its client, number or features are missing";
    }
    reason = map_page(node, device);
    reason = reason == NULL ? map_memory(node, device) : reason;
    reason = reason == NULL ? read(node, number, device) : reason;
    return reason == NULL ? attach_doorbell(node, device) : reason;
}

static bool is_of_kind(int node, const char *kind)
{
    const char *text = devices_text(node, "bulkhead,kind");

    return text != NULL && strcmp(text, kind) == 0;
}

static const char *name_of(int node)
{
    const char *name = devices_text(node, "label");

    return name == NULL ? "a device without a name" : name;
}

unsigned devices_find(const char *kind, struct device devices[DEVICES_MAX], device_reader read,
                      struct semaphore *wake)
{
    unsigned count = 0;

    for (int node = devicetree_next_compatible(-1, COMPATIBLE); node >= 0;
         node = devicetree_next_compatible(node, COMPATIBLE)) {
        const char *reason = "there are more than 16 devices of its kind";

        if (!is_of_kind(node, kind)) {
            continue;
        }
        if (count < DEVICES_MAX) {
            memset(&devices[count], 0, sizeof(devices[count]));
            devices[count].name = name_of(node);
            devices[count].wake = wake;
            reason = read_device(node, count, &devices[count], read);
        }
        if (reason != NULL) {
            print("backend: %s: not served: %s\n", name_of(node), reason);
            continue;
        }
        count++;
    }
    return count;
}

void devices_report_unknown(void)
{
    for (int node = devicetree_next_compatible(-1, COMPATIBLE); node >= 0;
         node = devicetree_next_compatible(node, COMPATIBLE)) {
        if (!is_of_kind(node, "net") && !is_of_kind(node, "block")) {
            print("backend: %s: not served: it is neither a network nor a block device\n",
                  name_of(node));
        }
    }
}

void device_acknowledge(const struct device *device, uint32_t generation)
{
    (void)hypervisor_call(CALL_SHARED_DEVICE_ACKNOWLEDGE, device->index, generation, 0);
}

void device_interrupt(const struct device *device)
{
    (void)hypervisor_call(CALL_SHARED_DEVICE_INTERRUPT, device->index, INTERRUPT_USED, 0);
}

void device_fail(struct device *device, const char *reason)
{
    uint64_t left_out = 0;

    if (failure_report_is_due(&device->failures, time_now(), &left_out)) {
        print("backend: %s: its driver is not served until it resets the device: %s\n",
              device->name, reason);
    }
    if (left_out != 0) {
        print("backend: %s: so it was %llu more times since the last report\n", device->name,
              (unsigned long long)left_out);
    }
    (void)hypervisor_call(CALL_SHARED_DEVICE_FAIL, device->index, 0, 0);
}
