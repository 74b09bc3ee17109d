/* SPDX-License-Identifier: BSD-2-Clause */
#include "boot/boot.h"
#include "manager/manager.h"

void manager_boot(const struct description *system, struct partition *const *partitions)
{
    (void)partitions;
    if (system->manager.staging_bytes != 0) {
        boot_refuse("the image has no code for a manager: partition", system->manager.partition);
    }
}

/* NOLINTNEXTLINE(readability-non-const-parameter): manager/boot.c writes to the tables */
void manager_map(uint64_t *root, const struct partition *partition)
{
    (void)root;
    (void)partition;
}
