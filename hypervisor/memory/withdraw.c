/* SPDX-License-Identifier: BSD-2-Clause */
#include "memory/withdraw.h"

#include "memory/tables.h"

static bool is_valid(const uint64_t *entry)
{
    return (__atomic_load_n(entry, __ATOMIC_RELAXED) & TABLES_VALID) != 0;
}

/* Changes the entries that map the partition's memory. Guests execute in no other part. */
static void set_valid(uint64_t *root, const struct description_partition *partition, bool valid)
{
    for (uint32_t i = 0; i < partition->memory_count; i++) {
        const struct description_memory *memory = &partition->memories[i];
        uint64_t last = tables_root_index(memory->guest + memory->bytes - 1);

        for (uint64_t entry = tables_root_index(memory->guest); entry <= last; entry++) {
            if (valid) {
                (void)__atomic_fetch_or(&root[entry], TABLES_VALID, __ATOMIC_SEQ_CST);
            } else {
                (void)__atomic_fetch_and(&root[entry], ~TABLES_VALID, __ATOMIC_SEQ_CST);
            }
        }
    }
}

void withdraw_memory(uint64_t *root, const struct description_partition *partition)
{
    set_valid(root, partition, false);
}

void withdraw_restore(uint64_t *root, const struct description_partition *partition)
{
    set_valid(root, partition, true);
}

bool withdraw_is_done(const uint64_t *root, const struct description_partition *partition)
{
    return !is_valid(&root[tables_root_index(partition->memories[0].guest)]);
}
