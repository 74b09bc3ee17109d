/* SPDX-License-Identifier: BSD-2-Clause */
#include "boot/boot.h"
#include "health/health.h"

uint64_t health_pages(void)
{
    return 0;
}

void health_boot(const struct partition *partition)
{
    if (partition->constant.described->health.is_monitored != 0) {
        boot_refuse("the image has no code for health monitoring: partition",
                    partition->constant.index);
    }
}
