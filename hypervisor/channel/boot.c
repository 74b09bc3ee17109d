/* SPDX-License-Identifier: BSD-2-Clause */
#include "boot/boot.h"
#include "channel/channel.h"
#include "channel/check.h"
#include "channel/region.h"
#include "console/terminal.h"
#include "memory/tables.h"
#include "partition/load.h"
#include <arch/device_access.h>
#include <string.h>

void channel_prepare(const struct description *system, uint64_t *root)
{
    uint64_t value = 0;
    const char *problem = channel_check(system, &value);

    if (problem != NULL) {
        boot_refuse(problem, value);
    }
    terminal_explain("the board has no memory at");
    for (uint32_t i = 0; i < system->channel_count; i++) {
        const struct description_channel *channel = &system->channels[i];
        uint64_t bytes = channel_physical_bytes(channel);

        (void)device_read32(channel->physical + bytes - 4);
        boot_map(root, channel->physical, bytes, MONITOR_DATA);
    }
}

/* Maps a part of a channel's region in the stage 2 of the partition at `end`. `offset`: of the part
 * in the region. */
static void map_part(uint64_t *stage2, const struct description_channel *channel, uint32_t end,
                     uint64_t offset, uint64_t bytes, uint64_t attributes)
{
    if (!tables_map(stage2, boot_pool, channel->ends[end].guest + offset,
                    channel->physical + offset, bytes, attributes)) {
        boot_refuse("a channel can't be mapped at guest address", channel->ends[end].guest);
    }
}

static void connect_end(uint64_t *stage2, const struct description_channel *channel, uint32_t end)
{
    uint64_t bytes = channel->section_bytes, sections = channel_sections(channel);
    uint64_t data = channel_is_uncached(channel) ? STAGE2_UNCACHED_DATA : STAGE2_DATA;
    uint64_t constants =
        channel_is_uncached(channel) ? STAGE2_UNCACHED_CONSTANTS : STAGE2_CONSTANTS;

    map_part(stage2, channel, end, 0, PAGE_BYTES, constants);
    map_part(stage2, channel, end, PAGE_BYTES, channel_common_bytes(channel), data);
    map_part(stage2, channel, end, sections, bytes, end == 0 ? data : constants);
    if (channel->one_way == 0) {
        map_part(stage2, channel, end, sections + bytes, bytes, end == 1 ? data : constants);
    }
}

/* Zeroes the region. Cleans it, too, because a guest may access it without its caches: the guest
 * must read the zeroes, and no dirty line may be evicted over its writes later. */
static void zero_region(const struct description_channel *channel)
{
    uint64_t bytes = channel_physical_bytes(channel);

    memset((void *)(uintptr_t)channel->physical, 0, bytes);
    load_clean(channel->physical, channel->physical + bytes);
}

void channel_connect(const struct partition *partition, uint64_t *stage2)
{
    const struct description *system = partition->constant.system;

    for (uint32_t i = 0; i < system->channel_count; i++) {
        const struct description_channel *channel = &system->channels[i];

        uint32_t end = channel_find_end(channel, partition->constant.index);

        if (end == 0) {
            zero_region(channel);
        }
        if (end < channel_end_count(channel)) {
            connect_end(stage2, channel, end);
        }
    }
}

/* Maps the pages of a channel that monitors write. */
static void map_pages(uint64_t *root, const struct description_channel *channel)
{
    boot_map(root, channel->physical, PAGE_BYTES, MONITOR_DATA);
    if (channel->further_receivers != 0) {
        boot_map(root, channel->physical + channel_region_bytes(channel), PAGE_BYTES, MONITOR_DATA);
    }
}

void channel_map(uint64_t *root, const struct partition *partition)
{
    const struct description *system = partition->constant.system;

    for (uint32_t i = 0; i < system->channel_count; i++) {
        const struct description_channel *channel = &system->channels[i];

        if (channel_find_end(channel, partition->constant.index) < channel_end_count(channel)) {
            map_pages(root, channel);
        }
    }
}
