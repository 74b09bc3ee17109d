/* SPDX-License-Identifier: BSD-2-Clause */
#include "monitor/load.h"
#include "monitor/registers.h"

#include <string.h>

/* Log2 of words (Arm ARM, CTR_EL0.DminLine). */
#define LINE_BYTES(type) (UINT64_C(4) << ((type) >> 16 & 0xf))

/* The guest begins with its caches off, and must find neither old lines nor late ones. */
static void clean(const struct description_memory *memory)
{
    uint64_t step = LINE_BYTES(register_read(ctr_el0));
    uint64_t at = memory->physical, end = at + memory->bytes;

    do {
        __asm__ volatile("dc civac, %0" : : "r"(at) : "memory");
        at += step;
    } while (at < end);
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
        memset((void *)(uintptr_t)described->memories[i].physical, 0, described->memories[i].bytes);
    }
    for (uint32_t i = 0; i < described->image_count; i++) {
        copy(partition, &described->images[i]);
    }
    for (uint32_t i = 0; i < described->memory_count; i++) {
        clean(&described->memories[i]);
    }
    __asm__ volatile("dsb sy\n\tic ialluis\n\tdsb ish\n\tisb" : : : "memory");
}
