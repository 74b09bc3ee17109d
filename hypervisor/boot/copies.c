/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * In a system with colours: copies of the hypervisor's image in its own colours, and of each
 * partition's images in its colours (docs/decisions/0098). The loader has placed the originals,
 * which have all colours. EL2 maps the copies at the addresses of the originals, so no address
 * changes. Two parts stay where they are: code of the boot, and code with which a processor starts
 * while its MMU is off, which reads the original then.
 */
#include "boot/copies.h"
#include "boot/boot.h"
#include "boot/image.h"
#include "hypervisor/registers.h"
#include "memory/runs.h"
#include <string.h>

/* Returns the end of the description, which follows the image. */
static uint64_t description_end(const struct description *system)
{
    return page_up((uint64_t)(uintptr_t)system + sizeof(*system));
}

static void map_to_new_pages(uint64_t *root, uint64_t start, uint64_t end, uint64_t attributes)
{
    for (uint64_t address = start; address < end; address += PAGE_BYTES) {
        boot_map_to(root, address, boot_take(1), PAGE_BYTES, attributes);
    }
}

uint64_t copies_map_own(uint64_t *root, const struct description *system)
{
    uint64_t code = (uint64_t)(uintptr_t)monitor_text_start;
    uint64_t constants = (uint64_t)(uintptr_t)monitor_constants_start;
    uint64_t data = (uint64_t)(uintptr_t)monitor_constants_end;

    boot_map_between(root, image_start, monitor_text_start, MONITOR_CODE);
    map_to_new_pages(root, code, constants, MONITOR_CODE);
    map_to_new_pages(root, constants, data, MONITOR_CONSTANTS);
    map_to_new_pages(root, data, description_end(system), MONITOR_DATA);
    return description_end(system);
}

void copies_make_own(const uint64_t *root, const struct description *system)
{
    uint64_t end = description_end(system), output, attributes;

    for (uint64_t address = (uint64_t)(uintptr_t)monitor_text_start; address < end;
         address += PAGE_BYTES) {
        const volatile uint64_t *from = (const volatile uint64_t *)(uintptr_t)address;
        volatile uint64_t *to;

        (void)tables_find(root, address, &output, &attributes);
        to = (volatile uint64_t *)(uintptr_t)output;
        for (uint64_t i = 0; i < PAGE_BYTES / sizeof(*to); i++) {
            to[i] = from[i];
        }
    }
}

void copies_map_in_monitor(uint64_t *root, uint64_t start, uint64_t bytes, uint64_t attributes)
{
    const uint64_t *own = (const uint64_t *)(uintptr_t)register_read(ttbr0_el2);
    uint64_t output, found;

    for (uint64_t address = start; address < page_up(start + bytes); address += PAGE_BYTES) {
        (void)tables_find(own, address, &output, &found);
        boot_map_to(root, address, output, PAGE_BYTES, attributes);
    }
}

/* Returns the address at which the boot core writes the copy of an image: the copies follow each
 * other where monitors map the partition's memory, which has room for its images. */
static uint64_t address_of(const struct description *system, uint32_t partition, uint32_t image)
{
    const struct description_partition *described = &system->partitions[partition];
    uint64_t address = described->memories[0].physical;

    for (uint32_t i = 0; i < image; i++) {
        address += page_up(described->images[i].bytes);
    }
    return address;
}

void copies_prepare_images(const struct description *system, uint64_t *root)
{
    for (uint32_t i = 0; i < system->partition_count; i++) {
        for (uint32_t j = 0; j < system->partitions[i].image_count; j++) {
            const struct runs runs = runs_of_image(system, i, j);

            boot_map_runs(root, address_of(system, i, j), &runs, MONITOR_DATA);
        }
    }
}

void copies_make_images(const struct description *system, uint32_t partition)
{
    const struct description_partition *described = &system->partitions[partition];

    for (uint32_t i = 0; i < described->image_count; i++) {
        memcpy((void *)(uintptr_t)address_of(system, partition, i),
               (const void *)((uintptr_t)system + described->images[i].offset),
               page_up(described->images[i].bytes));
    }
}
