/* SPDX-License-Identifier: BSD-2-Clause */
#include "memory/withdraw.h"

void withdraw_set(uint64_t *root, const struct description_partition *partition, uint64_t valid)
{
    for (uint32_t i = 0; i < partition->memory_count; i++) {
        const struct description_memory *memory = &partition->memories[i];
        uint64_t last = tables_root_index(memory->guest + memory->bytes - 1);

        for (uint64_t entry = tables_root_index(memory->guest); entry <= last; entry++) {
            uint64_t *place = &root[entry];

            /* Only this bit ever changes, so no change is lost if several cores write at the same
             * time. */
            __atomic_store_n(place, (*place & ~TABLES_VALID) | valid, __ATOMIC_RELAXED);
        }
    }
}

bool withdraw_is_done(const uint64_t *root, const struct description_partition *partition)
{
    uint64_t entry = tables_root_index(partition->memories[0].guest);

    return (__atomic_load_n(&root[entry], __ATOMIC_RELAXED) & TABLES_VALID) == 0;
}
