/* SPDX-License-Identifier: BSD-2-Clause */
/* Validation of shared devices. This file is executed with the MMU off, as description/check.c
 * is. */
#include "shared_device/check.h"

#include "channel/region.h"
#include "description/limits.h"
#include "description/room.h"
#include "shared_device/state.h"
#include <stdbool.h>
#include <stddef.h>

#define DEVICE_NET       1u /* VIRTIO 1.3, 5 */
#define DEVICE_BLOCK     2u
#define QUEUE_SIZE_MAX   256u
#define FEATURE_VERSION1 (UINT64_C(1) << 32) /* VIRTIO_F_VERSION_1 */

static bool connects_partitions(const struct description *system,
                                const struct description_shared_device *device)
{
    return device->client < system->partition_count && device->backend < system->partition_count &&
           device->client != device->backend;
}

static bool has_kind(const struct description_shared_device *device)
{
    uint32_t size = device->queue_size_max;

    return (device->device_id == DEVICE_NET || device->device_id == DEVICE_BLOCK) &&
           device->queue_count - 1 < SHARED_DEVICE_QUEUES && size - 1 < QUEUE_SIZE_MAX &&
           (size & (size - 1)) == 0;
}

/* Returns true if the device has no PCI function, or one on a PCI host. */
static bool is_function_or_none(const struct description *system,
                                const struct description_shared_device *device)
{
    return device->function == 0 ||
           (device->function == 1 && system->partitions[device->backend].channel_host != 0);
}

static bool has_features(const struct description_shared_device *device)
{
    return (device->features & FEATURE_VERSION1) != 0 &&
           (device->required & ~device->features) == 0;
}

/* Returns true if the sizes of both lists are valid, and all behind them is 0. */
static bool has_lists(const struct description_shared_device *device)
{
    uint64_t behind = 0;

    if (device->config_bytes > SHARED_DEVICE_CONFIG_BYTES ||
        device->window_count > DESCRIPTION_WINDOWS_MAX) {
        return false;
    }
    for (uint32_t i = device->config_bytes; i < SHARED_DEVICE_CONFIG_BYTES; i++) {
        behind |= device->config[i];
    }
    for (uint32_t i = device->window_count; i < DESCRIPTION_WINDOWS_MAX; i++) {
        behind |= device->windows[i].client | device->windows[i].backend | device->windows[i].bytes;
    }
    return behind == 0;
}

/* Returns true if the pages overlap neither the page of the device nor its first `windows`
 * windows, both in the back-end. */
static bool is_apart_from_device(const struct pages *pages,
                                 const struct description_shared_device *device, uint32_t windows)
{
    bool is_free = room_is_apart(pages, device->page, DESCRIPTION_PAGE_BYTES);

    for (uint32_t i = 0; i < windows; i++) {
        is_free =
            is_free && room_is_apart(pages, device->windows[i].backend, device->windows[i].bytes);
    }
    return is_free;
}

/* Returns true if the pages overlap nothing that the guest of a partition has, except shared
 * devices from `index` on. `partition`: index. */
static bool is_free_for_guest(const struct description *system, uint32_t partition,
                              const struct pages *pages, uint32_t index)
{
    uint64_t host = system->partitions[partition].channel_host;
    bool is_free =
        room_is_free_for_guest(system, partition, pages, system->channel_count) &&
        (host == 0 ||
         room_is_apart(pages, host, DESCRIPTION_HOST_ECAM_BYTES + DESCRIPTION_HOST_WINDOW_BYTES));

    for (uint32_t i = 0; i < index; i++) {
        const struct description_shared_device *other = &system->shared_devices[i];

        if (other->client == partition) {
            is_free = is_free && room_is_apart(pages, other->registers, DESCRIPTION_PAGE_BYTES);
        }
        if (other->backend == partition) {
            is_free = is_free && is_apart_from_device(pages, other, other->window_count);
        }
    }
    return is_free;
}

/* Returns true if the guest of a partition may have a page at the address. */
static bool is_page(const struct description *system, uint32_t partition, uint64_t guest,
                    uint32_t index)
{
    const struct pages pages = {guest, DESCRIPTION_PAGE_BYTES};

    return room_is_below(&pages, GUEST_LIMIT) &&
           is_free_for_guest(system, partition, &pages, index);
}

/* Returns true if the pages of the device overlap no other use of physical memory. */
static bool is_free_memory(const struct description *system, uint32_t index)
{
    const struct pages pages = {system->shared_devices[index].physical, SHARED_DEVICE_BYTES};
    bool is_free = room_is_below(&pages, PHYSICAL_LIMIT) &&
                   room_is_free_memory(system, &pages, system->channel_count);

    for (uint32_t i = 0; i < index; i++) {
        is_free = is_free &&
                  room_is_apart(&pages, system->shared_devices[i].physical, SHARED_DEVICE_BYTES);
    }
    return is_free;
}

/* Returns true if the manager's staging memory has a part of the window: its back-end could replace
 * images of all partitions. */
static bool has_staging(const struct description_manager *manager, uint64_t physical,
                        uint64_t bytes)
{
    const struct pages pages = {physical, bytes};

    return !room_is_apart(&pages, manager->staging, manager->staging_bytes);
}

/* Returns true if the window lies in one memory of the client, which no restart keeps. */
static bool is_in_client(const struct description *system, uint32_t client,
                         const struct description_window *window)
{
    const struct description_partition *partition = &system->partitions[client];

    for (uint32_t i = 0; i < partition->memory_count; i++) {
        const struct description_memory *memory = &partition->memories[i];
        uint64_t offset = window->client - memory->guest; /* huge if it begins before the memory */

        if (offset < memory->bytes && window->bytes <= memory->bytes - offset) {
            return memory->kept == 0 &&
                   !has_staging(&system->manager, memory->physical + offset, window->bytes);
        }
    }
    return false;
}

/* Checks a window. `number`: index in the device. */
static const char *check_window(const struct description *system, uint32_t index, uint32_t number,
                                uint64_t *value)
{
    const struct description_shared_device *device = &system->shared_devices[index];
    const struct description_window *window = &device->windows[number];
    const struct pages pages = {window->backend, window->bytes};

    *value = window->client;
    if ((window->client | window->bytes) % DESCRIPTION_PAGE_BYTES != 0 || window->bytes == 0 ||
        !is_in_client(system, device->client, window)) {
        return "a window of a shared device is not whole pages of a memory of its client that is "
               "neither kept nor staging: guest address";
    }
    *value = window->backend;
    if (!room_is_below(&pages, GUEST_LIMIT) ||
        !is_free_for_guest(system, device->backend, &pages, index) ||
        !is_apart_from_device(&pages, device, number)) {
        return "a window of a shared device overlaps, or is not whole pages: guest address";
    }
    return NULL;
}

static bool has_bit(const uint32_t *words, uint32_t interrupt)
{
    return (words[interrupt / 32] >> interrupt % 32 & 1) != 0;
}

/* Returns true if an end of a channel, a movable function, or a shared device before `index` has
 * the interrupt. */
static bool is_used(const struct description *system, uint32_t index, uint32_t interrupt)
{
    bool is_found = false;

    for (uint32_t i = 0; i < system->channel_count; i++) {
        for (uint32_t end = 0; end < channel_end_count(&system->channels[i]); end++) {
            is_found = is_found || system->channels[i].ends[end].interrupt == interrupt;
        }
    }
    for (uint32_t i = 0; i < system->movable_count; i++) {
        is_found = is_found || system->movables[i].interrupt == interrupt;
    }
    for (uint32_t i = 0; i < index; i++) {
        is_found = is_found || system->shared_devices[i].interrupt == interrupt ||
                   system->shared_devices[i].doorbell == interrupt;
    }
    return is_found;
}

/* Returns true if the interrupt is an edge-triggered SPI of the partition that nothing else
 * uses. */
static bool is_own_edge(const struct description *system, uint32_t partition, uint32_t interrupt,
                        uint32_t index)
{
    const struct description_partition *described = &system->partitions[partition];

    return interrupt >= SPI_FIRST && interrupt < SPI_LIMIT &&
           has_bit(described->interrupts, interrupt) && has_bit(described->edges, interrupt) &&
           (described->console == 0 || interrupt != described->console_interrupt) &&
           (described->health.watchdog == 0 || interrupt != described->health.watchdog_interrupt) &&
           !is_used(system, index, interrupt);
}

/* Checks what the guests of both partitions have of the device. */
static const char *check_guests(const struct description *system, uint32_t index, uint64_t *value)
{
    const struct description_shared_device *device = &system->shared_devices[index];

    *value = device->registers;
    if (!is_page(system, device->client, device->registers, index)) {
        return "registers of a shared device overlap, or are no page: guest address";
    }
    *value = device->page;
    if (!is_page(system, device->backend, device->page, index)) {
        return "the page of a shared device overlaps, or is no page: guest address";
    }
    *value = device->interrupt;
    if (!is_own_edge(system, device->client, device->interrupt, index)) {
        return "a shared device's interrupt is not its client's alone: INTID";
    }
    *value = device->doorbell;
    if (!is_own_edge(system, device->backend, device->doorbell, index)) {
        return "a shared device's doorbell is not its back-end's alone: INTID";
    }
    return NULL;
}

static const char *check_device(const struct description *system, uint32_t index, uint64_t *value)
{
    const struct description_shared_device *device = &system->shared_devices[index];
    const char *problem;

    *value = index;
    if (!connects_partitions(system, device)) {
        return "does not connect different partitions: shared device";
    }
    if (!has_kind(device)) {
        return "unknown device_id, or queues out of range: shared device";
    }
    if (!is_function_or_none(system, device)) {
        return "a PCI function without host, or unknown value of function: shared device";
    }
    if (!has_features(device)) {
        return "features without VERSION_1, or required and not offered: shared device";
    }
    if (!has_lists(device)) {
        return "too many windows, too large a configuration, or not 0 behind them: shared device";
    }
    *value = device->physical;
    if (!is_free_memory(system, index)) {
        return "a shared device overlaps, or is not whole pages: physical address";
    }
    problem = check_guests(system, index, value);
    for (uint32_t i = 0; i < device->window_count && problem == NULL; i++) {
        problem = check_window(system, index, i, value);
    }
    return problem;
}

const char *shared_device_check(const struct description *system, uint64_t *value)
{
    const char *problem = NULL;

    for (uint32_t i = 0; i < system->shared_device_count && problem == NULL; i++) {
        problem = check_device(system, i, value);
    }
    return problem;
}
