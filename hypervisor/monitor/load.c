/* SPDX-License-Identifier: BSD-2-Clause */
#include "monitor/load.h"
#include "monitor/registers.h"

#include <string.h>

/* Log2 of words (Arm ARM, CTR_EL0.DminLine and DCZID_EL0.BS). */
#define LINE_BYTES(type) (UINT64_C(4) << ((type) >> 16 & 0xf))
#define ZERO_BYTES(size) (UINT64_C(4) << ((size) & 0xf))

static void zero(const struct description_memory *memory)
{
    uint64_t step = ZERO_BYTES(register_read(dczid_el0));

    for (uint64_t at = memory->physical; at < memory->physical + memory->bytes; at += step) {
        __asm__ volatile("dc zva, %0" : : "r"(at) : "memory");
    }
}

/* The guest begins with its caches off, and must find neither old lines nor late ones. */
static void clean(const struct description_memory *memory)
{
    uint64_t step = LINE_BYTES(register_read(ctr_el0));

    for (uint64_t at = memory->physical; at < memory->physical + memory->bytes; at += step) {
        __asm__ volatile("dc civac, %0" : : "r"(at) : "memory");
    }
}

/* description_check() saw that each image lies in one of the memories. */
static void copy(const struct partition *partition, const struct description_image *image)
{
    for (uint32_t i = 0; i < partition->described->memory_count; i++) {
        const struct description_memory *memory = &partition->described->memories[i];
        uint64_t offset = image->guest - memory->guest;

        if (image->guest >= memory->guest && offset < memory->bytes) {
            memcpy((void *)(uintptr_t)(memory->physical + offset),
                   (const char *)partition->system + image->offset, image->bytes);
        }
    }
}

void load_partition(const struct partition *partition)
{
    const struct description_partition *described = partition->described;

    for (uint32_t i = 0; i < described->memory_count; i++) {
        zero(&described->memories[i]);
    }
    for (uint32_t i = 0; i < described->image_count; i++) {
        copy(partition, &described->images[i]);
    }
    for (uint32_t i = 0; i < described->memory_count; i++) {
        clean(&described->memories[i]);
    }
    __asm__ volatile("dsb sy\n\tic ialluis\n\tdsb ish\n\tisb" : : : "memory");
}
