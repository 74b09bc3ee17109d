/* SPDX-License-Identifier: BSD-2-Clause */
#include "monitor/load.h"
#include "monitor/registers.h"

#include <string.h>

/* The smallest line of the data cache; the field is log2 of its words (Arm ARM,
 * CTR_EL0.DminLine). */
#define LINE_BYTES(type) (UINT64_C(4) << ((type) >> 16 & 0xf))

void load_clean(uint64_t at, uint64_t end)
{
    uint64_t step = LINE_BYTES(register_read(ctr_el0));

    do {
        __asm__ volatile("dc civac, %0" : : "r"(at) : "memory");
        at += step;
    } while (at < end);
    __asm__ volatile("dsb sy" : : : "memory");
}

/* description_check() has checked that each image lies in one of the memories. */
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
    /* The guest starts with its caches off: it must read the images from memory, and no dirty line
     * may be evicted later over its writes. */
    for (uint32_t i = 0; i < described->memory_count; i++) {
        const struct description_memory *memory = &described->memories[i];

        load_clean(memory->physical, memory->physical + memory->bytes);
    }
    __asm__ volatile("ic ialluis\n\tdsb ish\n\tisb" : : : "memory");
}
