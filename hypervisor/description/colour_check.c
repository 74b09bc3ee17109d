/* SPDX-License-Identifier: BSD-2-Clause */
/* This file is executed with the MMU off, as description/check.c is. */
#include "description/colour_check.h"

#include "description/limits.h"
#include "description/room.h"
#include "memory/runs.h"
#include <stdbool.h>
#include <stddef.h>

static bool are_none(const struct description_colours *colours)
{
    return (colours->first | colours->run | colours->period) == 0;
}

/* Returns true if these are some of the pages of a way. */
static bool are_part_of_way(const struct description_colours *colours)
{
    uint64_t run = colours->run, period = colours->period;

    return (colours->first | run | period) % DESCRIPTION_PAGE_BYTES == 0 && run != 0 &&
           run < period && (period & (period - 1)) == 0 && colours->first % period <= period - run;
}

static bool are_same_part(const struct description_colours *colours,
                          const struct description_colours *other)
{
    return colours->run == other->run && colours->period == other->period &&
           colours->first % DESCRIPTION_PAGE_BYTES == 0 &&
           colours->first % other->period == other->first % other->period;
}

/* Returns true if no page of the way is in both parts. Both have the same way. */
static bool are_apart(const struct description_colours *colours,
                      const struct description_colours *other)
{
    uint64_t first = colours->first % colours->period, second = other->first % other->period;

    return first + colours->run <= second || second + other->run <= first;
}

/* Returns the number of a partition's memories and copies of images. */
static uint32_t count_of(const struct description_partition *described)
{
    return described->memory_count + described->image_count;
}

/* Returns the colours of one of these. */
static const struct description_colours *colours_of(const struct description *system,
                                                    uint32_t partition, uint32_t number)
{
    uint32_t memories = system->partitions[partition].memory_count;

    return number < memories ? &system->colours[partition].memories[number]
                             : &system->colours[partition].images[number - memories];
}

/* Returns its size in bytes. */
static uint64_t bytes_of(const struct description_partition *described, uint32_t number)
{
    return number < described->memory_count
               ? described->memories[number].bytes
               : page_up(described->images[number - described->memory_count].bytes);
}

/* Returns true if its pages exist, and the calculation of their addresses does not overflow. */
static bool are_below_limit(const struct description_colours *colours, uint64_t bytes)
{
    return colours->first < PHYSICAL_LIMIT &&
           (bytes - 1) / colours->run < (PHYSICAL_LIMIT - colours->first) / colours->period;
}

/* Returns the range from its first page to the end of its last, with what is between the runs. */
static struct pages span_of(const struct description *system, uint32_t partition, uint32_t number)
{
    const struct description_colours *colours = colours_of(system, partition, number);
    uint64_t bytes = bytes_of(&system->partitions[partition], number);
    const struct runs runs = {colours->first, bytes, colours->run, colours->period};

    return (struct pages){runs.first, runs_address(&runs, bytes - 1) + 1 - runs.first};
}

/* Returns true if its pages overlap nothing. Those of other partitions have other colours. */
static bool is_free(const struct description *system, uint32_t partition, uint32_t number)
{
    const struct pages span = span_of(system, partition, number);
    bool is_free = room_is_free_memory(system, &span, 0);

    for (uint32_t i = 0; i < number; i++) {
        const struct pages other = span_of(system, partition, i);

        is_free = is_free && room_is_apart(&span, other.first, other.bytes);
    }
    return is_free;
}

/* Checks the pages of a partition that has colours. */
static const char *check_pages(const struct description *system, uint32_t partition,
                               uint64_t *value)
{
    const struct description_partition *described = &system->partitions[partition];

    for (uint32_t i = 0; i < count_of(described); i++) {
        const struct description_colours *colours = colours_of(system, partition, i);

        *value = colours->first;
        if (!are_same_part(colours, colours_of(system, partition, 0)) ||
            !are_below_limit(colours, bytes_of(described, i))) {
            return "other colours than its first memory, or pages beyond the address limit: "
                   "physical address";
        }
        if (!is_free(system, partition, i)) {
            return "memory with colours overlaps: physical address";
        }
    }
    return NULL;
}

/* Returns true if all is 0 that belongs to no memory and no image. */
static bool is_rest_empty(const struct description *system, uint32_t partition, uint32_t memories,
                          uint32_t images)
{
    bool is_empty = true;

    for (uint32_t i = memories; i < DESCRIPTION_MEMORIES_MAX; i++) {
        is_empty = is_empty && are_none(&system->colours[partition].memories[i]);
    }
    for (uint32_t i = images; i < DESCRIPTION_IMAGES_MAX; i++) {
        is_empty = is_empty && are_none(&system->colours[partition].images[i]);
    }
    return is_empty;
}

/* Returns true if the colours of the partition are colours of the cache, and nobody has one of them
 * of the hypervisor and the partitions before it. */
static bool has_own_colours(const struct description *system, uint32_t partition)
{
    const struct description_colours *colours = colours_of(system, partition, 0);
    bool are_own = are_part_of_way(colours) && colours->period == system->own_colours.period &&
                   are_apart(colours, &system->own_colours);

    for (uint32_t i = 0; i < partition; i++) {
        are_own = are_own && are_apart(colours, colours_of(system, i, 0));
    }
    return are_own;
}

static bool shares_core(const struct description_partition *described)
{
    bool shares = false;

    for (uint32_t i = 0; i < described->vcpu_count; i++) {
        shares = shares || described->vcpus[i].shared != 0;
    }
    return shares;
}

const char *colour_check(const struct description *system, uint32_t partition, uint64_t *value)
{
    const struct description_partition *described = &system->partitions[partition];
    bool has_colours = description_has_colours(system);

    *value = system->colours[partition].memories[0].first;
    if (!is_rest_empty(system, partition, has_colours ? described->memory_count : 0,
                       has_colours ? described->image_count : 0)) {
        return "colours of no memory and no image: physical address";
    }
    if (!has_colours) {
        return NULL;
    }
    if (!has_own_colours(system, partition)) {
        return "no colours of a cache, or those of others: physical address";
    }
    if (described->dma == DESCRIPTION_DMA_TRUSTED || shares_core(described) ||
        described->standby != 0) {
        return "colours, and trusted DMA, a shared core or a standby: physical address";
    }
    return check_pages(system, partition, value);
}

bool colour_check_own(const struct description *system)
{
    const struct description_board *board = &system->board;
    const struct description_colours *own = &system->own_colours;

    if (!description_has_colours(system)) {
        return are_none(own);
    }
    return are_part_of_way(own) && own->first - board->hypervisor < board->hypervisor_bytes &&
           (board->hypervisor + board->hypervisor_bytes) % own->period == 0 &&
           (system->channel_count | system->shared_device_count) == 0 &&
           system->manager.staging_bytes == 0;
}
