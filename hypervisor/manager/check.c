/* SPDX-License-Identifier: BSD-2-Clause */
#include "manager/check.h"

#include <stdbool.h>
#include <stddef.h>

static bool is_in_memory(const struct description_partition *partition,
                         const struct description_manager *manager)
{
    for (uint32_t i = 0; i < partition->memory_count; i++) {
        uint64_t offset = manager->staging - partition->memories[i].physical;

        if (offset < partition->memories[i].bytes &&
            manager->staging_bytes <= partition->memories[i].bytes - offset &&
            partition->memories[i].kept == 0) {
            return true;
        }
    }
    return false;
}

const char *manager_check(const struct description *system)
{
    const struct description_manager *manager = &system->manager;

    if (manager->partition >= system->partition_count) {
        return "no partition is the manager:";
    }
    if (manager->absent >> system->partition_count != 0 ||
        (manager->absent >> manager->partition & 1) != 0) {
        return "absent partitions are wrong: manager";
    }
    if ((manager->staging | manager->staging_bytes) % DESCRIPTION_PAGE_BYTES != 0 ||
        manager->staging_bytes > UINT32_MAX ||
        !is_in_memory(&system->partitions[manager->partition], manager)) {
        return "staging is not in the memory of the manager:";
    }
    for (uint32_t i = 0; i < system->partitions[manager->partition].vcpu_count; i++) {
        if (system->partitions[manager->partition].vcpus[i].shared != 0) {
            return "the manager shares a core: partition";
        }
    }
    return NULL;
}
