/* SPDX-License-Identifier: BSD-2-Clause */
/* Validation of channels. This file is executed with the MMU off, as description/check.c is. */
#include "channel/check.h"

#include "channel/region.h"
#include "description/limits.h"
#include "description/room.h"
#include <stdbool.h>
#include <stddef.h>

/* Returns true if an end of a channel before `index` has the interrupt. */
static bool is_used_by_earlier_channel(const struct description *system, uint32_t index,
                                       uint32_t interrupt)
{
    bool is_found = false;

    for (uint32_t i = 0; i < index; i++) {
        const struct description_channel *channel = &system->channels[i];

        for (uint32_t number = 0; number < channel_end_count(channel); number++) {
            is_found = is_found || channel->ends[number].interrupt == interrupt;
        }
    }
    return is_found;
}

/* Returns true if an end has no interrupt, or an edge-triggered SPI of its partition that nothing
 * else uses. */
static bool is_doorbell(const struct description *system, uint32_t index,
                        const struct description_channel_end *end)
{
    const struct description_partition *partition = &system->partitions[end->partition];
    uint32_t interrupt = end->interrupt;

    return interrupt == 0 ||
           (interrupt < SPI_LIMIT &&
            (partition->interrupts[interrupt / 32] >> interrupt % 32 & 1) != 0 &&
            (partition->edges[interrupt / 32] >> interrupt % 32 & 1) != 0 &&
            (partition->console == 0 || interrupt != partition->console_interrupt) &&
            !is_used_by_earlier_channel(system, index, interrupt));
}

/* Returns true if an end is no PCI function, or is one with an interrupt and a PCI host. */
static bool is_function_or_none(const struct description *system,
                                const struct description_channel_end *end)
{
    return end->reserved == 0 && end->function <= DESCRIPTION_CHANNEL_FUNCTION_CONTROL &&
           (end->function == DESCRIPTION_CHANNEL_FUNCTION_NONE ||
            (end->interrupt != 0 && system->partitions[end->partition].channel_host != 0));
}

/* Returns true if the number of ends is valid, and each end is of another partition. */
static bool connects_partitions(const struct description *system,
                                const struct description_channel *channel)
{
    bool is_valid = channel->further_receivers <= DESCRIPTION_ENDS_MAX - 2 &&
                    (channel->further_receivers == 0 || channel->one_way != 0);

    for (uint32_t i = 0; is_valid && i < channel_end_count(channel); i++) {
        is_valid = channel->ends[i].partition < system->partition_count &&
                   channel_find_end(channel, channel->ends[i].partition) == i;
    }
    return is_valid;
}

/* Returns true if the sections have a valid size. It is limited far below the size of the address
 * spaces, so that no sum of sizes overflows. The receiver of a one-way channel can write nothing,
 * so there is no common section. */
static bool has_sections(const struct description_channel *channel)
{
    return channel->section_bytes % DESCRIPTION_PAGE_BYTES == 0 && channel->section_bytes != 0 &&
           channel->section_bytes < GUEST_LIMIT / 4 && channel->one_way <= 1 &&
           channel_common_bytes(channel) < GUEST_LIMIT / 4 &&
           (channel->one_way == 0 || channel->common_pages == 0);
}

static const char *check_end(const struct description *system, uint32_t index,
                             const struct description_channel_end *end, uint64_t *value)
{
    const struct pages pages = {end->guest, channel_region_bytes(&system->channels[index])};

    *value = end->guest;
    if (!room_is_below(&pages, GUEST_LIMIT) ||
        !room_is_free_for_guest(system, end->partition, &pages, index)) {
        return "a channel overlaps, or is not whole pages: guest address";
    }
    *value = end->interrupt;
    if (!is_doorbell(system, index, end)) {
        return "a channel's interrupt is not its partition's alone: INTID";
    }
    *value = index;
    if (!is_function_or_none(system, end)) {
        return "a PCI function without interrupt or host, or unknown value of function: channel";
    }
    return NULL;
}

static const char *check_channel(const struct description *system, uint32_t index, uint64_t *value)
{
    const struct description_channel *channel = &system->channels[index];
    struct pages pages;
    const char *problem = NULL;

    *value = index;
    if (!connects_partitions(system, channel)) {
        return "does not connect different partitions, or has too many ends: channel";
    }
    if (!has_sections(channel)) {
        return "sections are not whole pages, or not those of its one_way: channel";
    }
    *value = channel->physical;
    pages = (struct pages){channel->physical, channel_physical_bytes(channel)};
    if (!room_is_below(&pages, PHYSICAL_LIMIT) || !room_is_free_memory(system, &pages, index)) {
        return "a channel overlaps, or is not whole pages: physical address";
    }
    for (uint32_t i = 0; i < channel_end_count(channel) && problem == NULL; i++) {
        problem = check_end(system, index, &channel->ends[i], value);
    }
    return problem;
}

/* Returns true if a partition has no PCI host for channels, or one whose addresses overlap nothing
 * else. */
static bool is_host_or_none(const struct description *system, uint32_t index)
{
    const struct pages pages = {system->partitions[index].channel_host,
                                DESCRIPTION_HOST_ECAM_BYTES + DESCRIPTION_HOST_WINDOW_BYTES};

    return pages.first == 0 ||
           (pages.first % DESCRIPTION_HOST_ECAM_BYTES == 0 && room_is_below(&pages, PCI_LIMIT) &&
            room_is_free_for_guest(system, index, &pages, system->channel_count));
}

const char *channel_check(const struct description *system, uint64_t *value)
{
    const char *problem = NULL;

    for (uint32_t i = 0; i < system->channel_count && problem == NULL; i++) {
        problem = check_channel(system, i, value);
    }
    for (uint32_t i = 0; i < system->partition_count && problem == NULL; i++) {
        *value = system->partitions[i].channel_host;
        if (!is_host_or_none(system, i)) {
            problem = "a PCI host of channels overlaps, or is at no such place: guest address";
        }
    }
    return problem;
}
