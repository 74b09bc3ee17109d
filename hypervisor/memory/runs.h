/* SPDX-License-Identifier: BSD-2-Clause */
/* The pages of a partition's memory, which follow each other or have colours of the last-level
 * cache. Only boot code deals with pages, because EL2 maps each memory without gaps. Also with the
 * MMU off. */
#ifndef MEMORY_RUNS_H
#define MEMORY_RUNS_H

#include "hypervisor/description.h"
#include "memory/tables.h"

/* Pages in runs that begin `period` bytes apart. Without colours there is one run. */
struct runs {
    uint64_t first; /* physical address of the first page */
    uint64_t bytes; /* size of the memory */
    uint64_t run;   /* size of a run; the last one may be shorter */
    uint64_t period;
};

/* Returns the pages of a memory. The description is valid. `partition`, `memory`: indices. */
static inline struct runs runs_of(const struct description *system, uint32_t partition,
                                  uint32_t memory)
{
    const struct description_memory *described = &system->partitions[partition].memories[memory];
    const struct description_colours *colours = &system->colours[partition].memories[memory];

    if (colours->run == 0) {
        return (struct runs){described->physical, described->bytes, described->bytes, 0};
    }
    return (struct runs){colours->first, described->bytes, colours->run, colours->period};
}

/* Returns the pages of the copy of an image, in whole pages. The system has colours. `partition`,
 * `image`: indices. */
static inline struct runs runs_of_image(const struct description *system, uint32_t partition,
                                        uint32_t image)
{
    const struct description_colours *colours = &system->colours[partition].images[image];

    return (struct runs){colours->first, page_up(system->partitions[partition].images[image].bytes),
                         colours->run, colours->period};
}

/* Returns the physical address of a byte. `offset`: of the byte in the memory. */
static inline uint64_t runs_address(const struct runs *runs, uint64_t offset)
{
    return runs->first + offset / runs->run * runs->period + offset % runs->run;
}

/* Maps a memory at [input, input + bytes), each run with the largest blocks that fit. `root`,
 * `attributes` and result: as of tables_map(). Boot only. */
bool runs_map(uint64_t *root, struct page_pool *pool, uint64_t input, const struct runs *runs,
              uint64_t attributes);

#endif
