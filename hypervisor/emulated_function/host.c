/* SPDX-License-Identifier: BSD-2-Clause */
#include "emulated_function/host.h"

#include "channel/function.h"
#include "pci/lock.h"
#include "shared_device/function.h"
#include <devices/pci_registers.h>

#define FUNCTIONS_PER_DEVICE 8u
#define BLOCK_BYTES          (UINT64_C(2) << 20)

enum access_result function_host_refuse(struct access *access, uint64_t value)
{
    if (!access->write) {
        access->value = value >> (64 - 8 * access->bytes);
    }
    return ACCESS_REFUSED;
}

/* Handles an access to the configuration space of a device, whose number may be any. The caller
 * holds the lock of the partition's functions. */
static enum access_result access_device(const struct partition *partition, uint64_t device,
                                        struct access *access)
{
    uint64_t shared = device - FUNCTION_HOST_SHARED_DEVICES; /* huge for the number of a channel */
    struct end end;

    if (device < FUNCTION_HOST_SHARED_DEVICES &&
        channel_function_find(partition, (uint32_t)device, &end)) {
        return channel_function_config(&end, access);
    }
    if (shared_device_has_function(partition, shared)) {
        return shared_device_function_config(partition, (uint32_t)shared, access);
    }
    return function_host_refuse(access, UINT64_MAX);
}

static enum access_result access_config(struct partition *partition, struct access *access)
{
    uint64_t number = access->offset / PCI_CONFIG_BYTES;
    enum access_result result;

    if (number % FUNCTIONS_PER_DEVICE != 0 || access->bytes > sizeof(uint32_t)) {
        return function_host_refuse(access, UINT64_MAX);
    }
    access->offset %= PCI_CONFIG_BYTES;
    if (!pci_lock(partition)) {
        return ACCESS_AGAIN;
    }
    result = access_device(partition, number / FUNCTIONS_PER_DEVICE, access);
    pci_unlock(partition);
    return result;
}

/* Returns true if the function's BAR 0 is at this guest address, and answers there. */
static bool has_bar_at(const struct emulated_function *function, uint64_t page)
{
    return function->bar == page && (function->command & PCI_COMMAND_MEMORY) != 0;
}

/* Handles an access to the window of BARs. `address`: guest address in the window. */
static enum access_result access_window(const struct partition *partition, uint64_t address,
                                        struct access *access)
{
    const struct description *system = partition->constant.system;
    uint64_t page = address - address % DESCRIPTION_PAGE_BYTES;
    struct end end;

    access->offset = address % DESCRIPTION_PAGE_BYTES;
    for (uint32_t i = 0; i < system->channel_count; i++) {
        if (channel_function_find(partition, i, &end) && has_bar_at(end_function(&end), page)) {
            return channel_function_register(&end, access);
        }
    }
    for (uint32_t i = 0; i < system->shared_device_count; i++) {
        if (shared_device_has_function(partition, i) &&
            has_bar_at(shared_device_function(&system->shared_devices[i]), page)) {
            return shared_device_function_register(partition, i, access);
        }
    }
    return function_host_refuse(access, UINT64_MAX);
}

/* Returns true if the partition's PCI host for channels contains the address. Sets *offset. */
static bool is_in_host(const struct partition *partition, uint64_t address, uint64_t *offset)
{
    uint64_t host = partition->constant.described->channel_host;

    *offset = address - host; /* an address below the host wraps to a huge offset */
    return host != 0 && *offset < DESCRIPTION_HOST_ECAM_BYTES + DESCRIPTION_HOST_WINDOW_BYTES;
}

bool function_host_is_near(uint64_t start, uint64_t bytes, uint64_t address)
{
    uint64_t last = start + bytes - 1;

    return address / BLOCK_BYTES >= start / BLOCK_BYTES &&
           address / BLOCK_BYTES <= last / BLOCK_BYTES;
}

bool function_host_has_near(const struct partition *partition, uint64_t address)
{
    const struct description *system = partition->constant.system;
    uint64_t offset;
    struct end end;

    if (is_in_host(partition, address, &offset)) {
        return true;
    }
    for (uint32_t i = 0; i < system->channel_count; i++) {
        if (channel_function_find(partition, i, &end) && channel_function_is_near(&end, address)) {
            return true;
        }
    }
    for (uint32_t i = 0; i < system->shared_device_count; i++) {
        if (shared_device_has_function(partition, i) &&
            shared_device_function_is_near(&system->shared_devices[i], address)) {
            return true;
        }
    }
    return false;
}

bool function_host_access(struct partition *partition, uint64_t address, struct access *access,
                          enum access_result *result)
{
    uint64_t offset;

    if (!is_in_host(partition, address, &offset)) {
        return false;
    }
    access->offset = offset;
    *result = offset < DESCRIPTION_HOST_ECAM_BYTES ? access_config(partition, access)
                                                   : access_window(partition, address, access);
    return true;
}
