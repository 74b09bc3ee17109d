/* SPDX-License-Identifier: BSD-2-Clause */
/* The hypervisor's pages: pools, and the pages at the end of its memory. Also with the MMU off. */
#include "boot/boot.h"
#include "memory/runs.h"
#include "smmu/smmu.h"

#define OWN_POOL 0u /* index of the hypervisor's pool; that of partition n is n + 1 */

struct page_pool *boot_pool;
static struct page_pool pools[1 + DESCRIPTION_PARTITIONS_MAX];
/* In a system with colours: pages of all colours, for tables that must follow each other. */
static struct page_pool contiguous_pool;

static uint64_t memory_end(const struct description *system)
{
    return system->board.hypervisor + system->board.hypervisor_bytes;
}

/* Returns the colours of a partition: those of its first memory. */
static const struct description_colours *colours_of(const struct description *system,
                                                    uint32_t partition)
{
    return &system->colours[partition].memories[0];
}

/* Returns the size of the last runs that have so many pages of these colours. */
static uint64_t tail_bytes(const struct description_colours *colours, uint32_t pages)
{
    uint64_t run_pages = colours->run / PAGE_BYTES;

    return (pages + run_pages - 1) / run_pages * colours->period;
}

/* Returns page `number` of the last `pages` pages of these colours in the hypervisor's memory,
 * which ends with a period. */
static uint64_t last_page(const struct description *system,
                          const struct description_colours *colours, uint32_t pages,
                          uint32_t number)
{
    const struct runs runs = {
        .first = memory_end(system) - tail_bytes(colours, pages) + colours->first % colours->period,
        .bytes = pages * PAGE_BYTES,
        .run = colours->run,
        .period = colours->period,
    };

    return runs_address(&runs, number * PAGE_BYTES);
}

/* Returns the number of VCPUs of the partitions before this one. */
static uint32_t vcpus_before(const struct description *system, uint32_t partition)
{
    uint32_t count = 0;

    for (uint32_t i = 0; i < partition; i++) {
        count += system->partitions[i].vcpu_count;
    }
    return count;
}

uint64_t boot_vcpu_page(const struct description *system, uint32_t partition, uint32_t number)
{
    if (description_has_colours(system)) {
        return last_page(system, colours_of(system, partition),
                         system->partitions[partition].vcpu_count, number);
    }
    return memory_end(system) - (vcpus_before(system, system->partition_count) -
                                 vcpus_before(system, partition) - number) *
                                    PAGE_BYTES;
}

uint64_t boot_processor_page(const struct description *system, uint32_t core)
{
    if (description_has_colours(system)) {
        return last_page(system, &system->own_colours, system->core_count, core);
    }
    return boot_vcpu_page(system, 0, 0) - (system->core_count - core) * PAGE_BYTES;
}

uint64_t boot_last_pages(const struct description *system)
{
    uint64_t most;

    if (!description_has_colours(system)) {
        return boot_processor_page(system, 0);
    }
    most = tail_bytes(&system->own_colours, system->core_count);
    for (uint32_t i = 0; i < system->partition_count; i++) {
        uint64_t bytes = tail_bytes(colours_of(system, i), system->partitions[i].vcpu_count);

        most = bytes > most ? bytes : most;
    }
    return memory_end(system) - most;
}

/* Makes a pool of the pages from `start` on, those of some colours, or all. */
static void make_pool(struct page_pool *pool, const struct description_colours *colours,
                      uint64_t start, uint64_t end)
{
    pool->run = colours->run;
    pool->period = colours->period;
    pool->first = start + (colours->run != 0 ? (colours->first - start) % colours->period : 0);
    pool->next = pool->first;
    pool->end = end;
}

void boot_make_pools(const struct description *system, uint64_t start)
{
    uint64_t end = boot_last_pages(system);

    boot_pool = &pools[OWN_POOL];
    if (description_has_colours(system)) {
        contiguous_pool.next = start;
        start += smmu_room(system);
        contiguous_pool.end = start;
        for (uint32_t i = 0; i < system->partition_count; i++) {
            make_pool(&pools[i + 1], colours_of(system, i), start, end);
        }
    }
    make_pool(boot_pool, &system->own_colours, start, end);
}

void boot_select_pool_of(const struct description *system, uint32_t partition)
{
    boot_pool = &pools[description_has_colours(system) ? partition + 1 : OWN_POOL];
}

void boot_select_own_pool(void)
{
    boot_pool = &pools[OWN_POOL];
}

struct page_pool *boot_contiguous_pool(const struct description *system)
{
    return description_has_colours(system) ? &contiguous_pool : &pools[OWN_POOL];
}
