/* SPDX-License-Identifier: BSD-2-Clause */
#include "memory/stage2.h"

#include "memory/runs.h"
#include <stddef.h>

static bool map_one_to_one(uint64_t *root, struct page_pool *pool, uint64_t address, uint64_t bytes)
{
    return tables_map(root, pool, address, address, bytes, STAGE2_DEVICE);
}

static bool map_all(const struct description *system, uint32_t index, struct page_pool *pool,
                    uint64_t *root)
{
    const struct description_partition *partition = &system->partitions[index];

    for (uint32_t i = 0; i < partition->memory_count; i++) {
        const struct runs runs = runs_of(system, index, i);

        if (!runs_map(root, pool, partition->memories[i].guest, &runs, STAGE2_MEMORY)) {
            return false;
        }
    }
    for (uint32_t i = 0; i < partition->device_count; i++) {
        if (!map_one_to_one(root, pool, partition->devices[i].address,
                            partition->devices[i].bytes)) {
            return false;
        }
    }
    return map_one_to_one(root, pool, partition->pci_memory, partition->pci_memory_bytes) &&
           map_one_to_one(root, pool, partition->pci_io, partition->pci_io_bytes) &&
           tables_map(root, pool, partition->pci_wide, partition->pci_wide_physical,
                      partition->pci_wide_bytes, STAGE2_DEVICE);
}

/* Returns the kept memory of a partition, or NULL. */
static const struct description_memory *kept_of(const struct description_partition *partition)
{
    for (uint32_t i = 0; i < partition->memory_count; i++) {
        if (partition->memories[i].kept != 0) {
            return &partition->memories[i];
        }
    }
    return NULL;
}

bool stage2_map_standby(uint64_t root, const struct description_partition *partition,
                        const struct description_partition *standby, struct page_pool *pool)
{
    const struct description_memory *kept = kept_of(standby);

    return kept == NULL || partition->standby_kept == 0 ||
           tables_map((uint64_t *)(uintptr_t)root, pool, partition->standby_kept, kept->physical,
                      kept->bytes, STAGE2_CONSTANTS);
}

uint64_t stage2_build(const struct description *system, uint32_t partition, struct page_pool *pool)
{
    uint64_t root = page_pool_take(pool, 1);

    return root != 0 && map_all(system, partition, pool, (uint64_t *)(uintptr_t)root) ? root : 0;
}
