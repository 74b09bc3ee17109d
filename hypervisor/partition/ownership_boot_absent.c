/* SPDX-License-Identifier: BSD-2-Clause */
#include "boot/boot.h"
#include "partition/ownership.h"

void ownership_boot(const struct description *system, struct partition *const *partitions,
                    const uint64_t stage2_roots[])
{
    (void)stage2_roots;
    (void)partitions;
    if (system->movable_count != 0) {
        boot_refuse("the image has no code for functions that move: functions",
                    system->movable_count);
    }
}
