/* SPDX-License-Identifier: BSD-2-Clause */
#include "watchdog/watchdog.h"

uint64_t watchdog_pages(const struct description_partition *described)
{
    (void)described;
    return 0;
}

/* NOLINTNEXTLINE(readability-non-const-parameter): boot.c writes to the tables */
void watchdog_map(const struct partition *partition, uint64_t *stage2)
{
    (void)partition;
    (void)stage2;
}
