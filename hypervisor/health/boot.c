/* SPDX-License-Identifier: BSD-2-Clause */
#include "health/health.h"
#include "health/state.h"

uint64_t health_pages(void)
{
    return 1;
}

void health_boot(const struct partition *partition)
{
    if (partition->constant.described->health.is_monitored != 0) {
        health_of(partition)->magic = HEALTH_MAGIC;
    }
}
