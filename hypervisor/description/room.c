/* SPDX-License-Identifier: BSD-2-Clause */
/* This file is executed with the MMU off, as description/check.c is. */
#include "description/room.h"

#include "channel/region.h"
#include "description/limits.h"

bool room_is_apart(const struct pages *pages, uint64_t first, uint64_t bytes)
{
    /* An address below the other range wraps to a huge offset. */
    return bytes == 0 || (pages->first - first >= bytes && first - pages->first >= pages->bytes);
}

bool room_is_below(const struct pages *pages, uint64_t limit)
{
    return pages->first % DESCRIPTION_PAGE_BYTES == 0 && pages->first < limit &&
           pages->bytes <= limit - pages->first;
}

/* Returns true if the pages overlap no device that has the same address for the machine and all
 * guests. */
static bool is_apart_from_board(const struct pages *pages, const struct description *system)
{
    bool is_free = room_is_apart(pages, system->board.distributor, DEVICE_FRAME_BYTES) &&
                   room_is_apart(pages, system->board.ecam, system->board.ecam_bytes);

    for (uint32_t i = 0; i < system->core_count; i++) {
        is_free = is_free &&
                  room_is_apart(pages, system->cores[i].redistributor, DEVICE_REDISTRIBUTOR_BYTES);
    }
    return is_free;
}

/* Returns true if the pages overlap no memory and no device of the partition. */
static bool is_apart_from_partition(const struct pages *pages,
                                    const struct description_partition *partition, bool is_guest)
{
    uint64_t wide = is_guest ? partition->pci_wide : partition->pci_wide_physical;
    bool is_free = room_is_apart(pages, partition->pci_memory, partition->pci_memory_bytes) &&
                   room_is_apart(pages, partition->pci_io, partition->pci_io_bytes) &&
                   room_is_apart(pages, wide, partition->pci_wide_bytes);

    for (uint32_t i = 0; i < partition->memory_count; i++) {
        const struct description_memory *memory = &partition->memories[i];

        is_free = is_free &&
                  room_is_apart(pages, is_guest ? memory->guest : memory->physical, memory->bytes);
    }
    for (uint32_t i = 0; i < partition->device_count; i++) {
        is_free = is_free &&
                  room_is_apart(pages, partition->devices[i].address, partition->devices[i].bytes);
    }
    return is_free;
}

/* Returns true if the pages do not overlap `count` pages at an address that is 0 if there are
 * none. */
static bool is_apart_from_pages(const struct pages *pages, uint64_t first, uint64_t count)
{
    return first == 0 || room_is_apart(pages, first, count * DESCRIPTION_PAGE_BYTES);
}

bool room_is_free_memory(const struct description *system, const struct pages *pages,
                         uint32_t channels)
{
    const struct description_board *board = &system->board;
    bool is_free = is_apart_from_board(pages, system) &&
                   room_is_apart(pages, board->hypervisor, board->hypervisor_bytes) &&
                   is_apart_from_pages(pages, board->uart, 1) &&
                   is_apart_from_pages(pages, board->rtc, 1) &&
                   is_apart_from_pages(pages, board->smmu, SMMU_BYTES / DESCRIPTION_PAGE_BYTES);

    for (uint32_t i = 0; i < system->partition_count; i++) {
        is_free = is_free && is_apart_from_partition(pages, &system->partitions[i], false);
    }
    for (uint32_t i = 0; i < channels; i++) {
        is_free = is_free && room_is_apart(pages, system->channels[i].physical,
                                           channel_physical_bytes(&system->channels[i]));
    }
    return is_free;
}

/* Returns the size of the kept memory that the partition reads of its standby. */
static uint64_t standby_kept_bytes(const struct description *system,
                                   const struct description_partition *partition)
{
    const struct description_partition *standby;
    uint64_t bytes = 0;

    if (partition->standby_kept == 0) {
        return 0;
    }
    standby = &system->partitions[partition->standby - 1];
    for (uint32_t i = 0; i < standby->memory_count; i++) {
        bytes += standby->memories[i].kept != 0 ? standby->memories[i].bytes : 0;
    }
    return bytes;
}

/* Returns true if the pages overlap nothing that the hypervisor shows only to this guest. */
static bool is_apart_from_services(const struct pages *pages, const struct description *system,
                                   const struct description_partition *partition)
{
    uint64_t last_redistributor = system->cores[system->core_count - 1].redistributor;
    uint64_t further =
        partition->vcpu_count > system->core_count ? partition->vcpu_count - system->core_count : 0;

    return is_apart_from_pages(pages, partition->console, 1) &&
           is_apart_from_pages(pages, partition->times, 1) &&
           is_apart_from_pages(pages, partition->rtc, 1) &&
           is_apart_from_pages(pages, partition->health.watchdog, 2) &&
           is_apart_from_pages(pages, partition->health.heartbeat, 1) &&
           room_is_apart(pages, partition->standby_kept, standby_kept_bytes(system, partition)) &&
           room_is_apart(pages, last_redistributor + DEVICE_REDISTRIBUTOR_BYTES,
                         further * DEVICE_REDISTRIBUTOR_BYTES);
}

bool room_is_free_for_guest(const struct description *system, uint32_t partition,
                            const struct pages *pages, uint32_t channels)
{
    const struct description_partition *described = &system->partitions[partition];
    bool is_free = is_apart_from_board(pages, system) &&
                   is_apart_from_partition(pages, described, true) &&
                   is_apart_from_services(pages, system, described);

    for (uint32_t i = 0; i < channels; i++) {
        const struct description_channel *other = &system->channels[i];

        for (uint32_t end = 0; end < channel_end_count(other); end++) {
            is_free = is_free &&
                      (other->ends[end].partition != partition ||
                       room_is_apart(pages, other->ends[end].guest, channel_region_bytes(other)));
        }
    }
    return is_free;
}
