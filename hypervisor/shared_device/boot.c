/* SPDX-License-Identifier: BSD-2-Clause */
#include "boot/boot.h"
#include "console/terminal.h"
#include "memory/tables.h"
#include "partition/load.h"
#include "shared_device/check.h"
#include "shared_device/shared_device.h"
#include "shared_device/state.h"
#include <arch/device_access.h>
#include <string.h>

void shared_device_prepare(const struct description *system, uint64_t *root)
{
    uint64_t value = 0;
    const char *problem = shared_device_check(system, &value);

    if (problem != NULL) {
        boot_refuse(problem, value);
    }
    terminal_explain("the board has no memory at");
    for (uint32_t i = 0; i < system->shared_device_count; i++) {
        uint64_t physical = system->shared_devices[i].physical;

        (void)device_read32(physical + SHARED_DEVICE_BYTES - 4);
        boot_map(root, physical, SHARED_DEVICE_BYTES, MONITOR_DATA);
    }
}

static void map_for_guest(uint64_t *stage2, uint64_t guest, uint64_t physical, uint64_t bytes,
                          uint64_t attributes)
{
    if (!tables_map(stage2, boot_pool, guest, physical, bytes, attributes)) {
        boot_refuse("a shared device can't be mapped at guest address", guest);
    }
}

/* Returns the physical address of a window, which lies in one memory of the client. */
static uint64_t physical_of(const struct description_partition *client,
                            const struct description_window *window)
{
    uint32_t i = 0;

    /* An address below the memory wraps to a huge offset. */
    while (window->client - client->memories[i].guest >= client->memories[i].bytes) {
        i++;
    }
    return client->memories[i].physical + (window->client - client->memories[i].guest);
}

static void connect_backend(uint64_t *stage2, const struct description *system,
                            const struct description_shared_device *device)
{
    const struct description_partition *client = &system->partitions[device->client];

    map_for_guest(stage2, device->page, device->physical, PAGE_BYTES, STAGE2_CONSTANTS);
    for (uint32_t i = 0; i < device->window_count; i++) {
        const struct description_window *window = &device->windows[i];

        map_for_guest(stage2, window->backend, physical_of(client, window), window->bytes,
                      STAGE2_DATA);
    }
}

/* Zeroes both pages, and sets the configuration space to that of the description. Cleans the pages,
 * because the back-end may read without its caches, and must find nothing older. */
static void initialise(const struct description_shared_device *device)
{
    uintptr_t page = (uintptr_t)device->physical;
    struct shared_device_state *state =
        (struct shared_device_state *)(page + DESCRIPTION_PAGE_BYTES);

    memset((void *)page, 0, SHARED_DEVICE_BYTES);
    memcpy(state->registers.config, device->config, device->config_bytes);
    load_clean(page, page + SHARED_DEVICE_BYTES);
}

void shared_device_connect(const struct partition *partition, uint64_t *stage2)
{
    const struct description *system = partition->constant.system;

    for (uint32_t i = 0; i < system->shared_device_count; i++) {
        const struct description_shared_device *device = &system->shared_devices[i];

        if (device->client == partition->constant.index) {
            initialise(device);
        } else if (device->backend == partition->constant.index) {
            connect_backend(stage2, system, device);
        }
    }
}

void shared_device_map(uint64_t *root, const struct partition *partition)
{
    const struct description *system = partition->constant.system;
    uint32_t index = partition->constant.index;

    for (uint32_t i = 0; i < system->shared_device_count; i++) {
        const struct description_shared_device *device = &system->shared_devices[i];

        if (device->client == index || device->backend == index) {
            boot_map(root, device->physical, SHARED_DEVICE_BYTES, MONITOR_DATA);
        }
    }
}
