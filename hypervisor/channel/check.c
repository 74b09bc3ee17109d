/* SPDX-License-Identifier: BSD-2-Clause */
/* Validation of channels. This file is executed with the MMU off, as description/check.c is. */
#include "channel/check.h"

#include "channel/region.h"
#include "description/limits.h"
#include <stdbool.h>
#include <stddef.h>

/* A range of pages in an address space: that of the machine, or that of a guest. */
struct pages {
    uint64_t first;
    uint64_t bytes;
};

static bool are_apart(const struct pages *pages, uint64_t first, uint64_t bytes)
{
    /* An address below the other range wraps to a huge offset. */
    return pages->first - first >= bytes && first - pages->first >= pages->bytes;
}

/* Returns true if the pages overlap no device that has the same address for the machine and all
 * guests. */
static bool are_apart_from_board(const struct pages *pages, const struct description *system)
{
    bool is_free = are_apart(pages, system->board.distributor, DEVICE_FRAME_BYTES) &&
                   are_apart(pages, system->board.ecam, system->board.ecam_bytes);

    for (uint32_t i = 0; i < system->core_count; i++) {
        is_free =
            is_free && are_apart(pages, system->cores[i].redistributor, DEVICE_REDISTRIBUTOR_BYTES);
    }
    return is_free;
}

/* Returns true if the pages overlap no memory and no device of the partition. */
static bool are_apart_from_partition(const struct pages *pages,
                                     const struct description_partition *partition, bool is_guest)
{
    uint64_t wide = is_guest ? partition->pci_wide : partition->pci_wide_physical;
    bool is_free = are_apart(pages, partition->pci_memory, partition->pci_memory_bytes) &&
                   are_apart(pages, partition->pci_io, partition->pci_io_bytes) &&
                   are_apart(pages, wide, partition->pci_wide_bytes);

    for (uint32_t i = 0; i < partition->memory_count; i++) {
        const struct description_memory *memory = &partition->memories[i];

        is_free =
            is_free && are_apart(pages, is_guest ? memory->guest : memory->physical, memory->bytes);
    }
    for (uint32_t i = 0; i < partition->device_count; i++) {
        is_free =
            is_free && are_apart(pages, partition->devices[i].address, partition->devices[i].bytes);
    }
    return is_free;
}

static uint64_t page_bytes(bool exists)
{
    return exists ? DESCRIPTION_PAGE_BYTES : 0;
}

/* Returns true if the channel's region overlaps no other use of physical memory: the hypervisor,
 * devices, memory of partitions, channels before it. `index`: of the channel. */
static bool is_free_memory(const struct description *system, uint32_t index)
{
    const struct description_board *board = &system->board;
    const struct pages pages = {system->channels[index].physical,
                                channel_physical_bytes(&system->channels[index])};
    bool is_free = are_apart_from_board(&pages, system) &&
                   are_apart(&pages, board->hypervisor, board->hypervisor_bytes) &&
                   are_apart(&pages, board->uart, page_bytes(board->uart != 0)) &&
                   are_apart(&pages, board->smmu, board->smmu != 0 ? SMMU_BYTES : 0);

    for (uint32_t i = 0; i < system->partition_count; i++) {
        is_free = is_free && are_apart_from_partition(&pages, &system->partitions[i], false);
    }
    for (uint32_t i = 0; i < index; i++) {
        is_free = is_free && are_apart(&pages, system->channels[i].physical,
                                       channel_physical_bytes(&system->channels[i]));
    }
    return is_free;
}

/* Returns true if the pages overlap nothing that the guest of a partition has, except channels
 * behind the first `count`. `index`: of the partition. */
static bool is_free_for_guest(const struct description *system, uint32_t index,
                              const struct pages *pages, uint32_t count)
{
    const struct description_partition *partition = &system->partitions[index];
    uint64_t last_redistributor = system->cores[system->core_count - 1].redistributor;
    bool is_free = are_apart_from_board(pages, system) &&
                   are_apart_from_partition(pages, partition, true) &&
                   are_apart(pages, partition->console, page_bytes(partition->console != 0)) &&
                   are_apart(pages, partition->times, page_bytes(partition->times != 0));

    if (partition->vcpu_count > system->core_count) {
        is_free = is_free && are_apart(pages, last_redistributor + DEVICE_REDISTRIBUTOR_BYTES,
                                       (partition->vcpu_count - system->core_count) *
                                           DEVICE_REDISTRIBUTOR_BYTES);
    }
    for (uint32_t i = 0; i < count; i++) {
        const struct description_channel *other = &system->channels[i];

        for (uint32_t number = 0; number < channel_end_count(other); number++) {
            is_free = is_free &&
                      (other->ends[number].partition != index ||
                       are_apart(pages, other->ends[number].guest, channel_region_bytes(other)));
        }
    }
    return is_free;
}

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

static bool are_pages_below(uint64_t first, uint64_t bytes, uint64_t limit)
{
    return first % DESCRIPTION_PAGE_BYTES == 0 && first < limit && bytes <= limit - first;
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
    if (!are_pages_below(pages.first, pages.bytes, GUEST_LIMIT) ||
        !is_free_for_guest(system, end->partition, &pages, index)) {
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
    const char *problem = NULL;

    *value = index;
    if (!connects_partitions(system, channel)) {
        return "does not connect different partitions, or has too many ends: channel";
    }
    if (!has_sections(channel)) {
        return "sections are not whole pages, or not those of its one_way: channel";
    }
    *value = channel->physical;
    if (!are_pages_below(channel->physical, channel_physical_bytes(channel), PHYSICAL_LIMIT) ||
        !is_free_memory(system, index)) {
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

    return pages.first == 0 || (pages.first % DESCRIPTION_HOST_ECAM_BYTES == 0 &&
                                are_pages_below(pages.first, pages.bytes, PCI_LIMIT) &&
                                is_free_for_guest(system, index, &pages, system->channel_count));
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
