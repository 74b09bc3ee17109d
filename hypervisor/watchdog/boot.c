/* SPDX-License-Identifier: BSD-2-Clause */
#include "boot/boot.h"
#include "health/state.h"
#include "memory/tables.h"
#include "watchdog/watchdog.h"

uint64_t watchdog_pages(const struct description_partition *described)
{
    return described->health.heartbeat != 0 ? 1 : 0;
}

void watchdog_map(const struct partition *partition, uint64_t *stage2)
{
    uint64_t guest = partition->constant.described->health.heartbeat;
    uint64_t page = (uint64_t)(uintptr_t)health_of(partition) + DESCRIPTION_PAGE_BYTES;

    if (guest != 0 &&
        !tables_map(stage2, boot_pool, guest, page, DESCRIPTION_PAGE_BYTES, STAGE2_DATA)) {
        boot_refuse("the heartbeat can't be mapped at guest address", guest);
    }
}
