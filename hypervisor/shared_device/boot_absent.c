/* SPDX-License-Identifier: BSD-2-Clause */
#include "boot/boot.h"
#include "shared_device/shared_device.h"

/* NOLINTNEXTLINE(readability-non-const-parameter): shared_device/boot.c writes to the tables */
void shared_device_prepare(const struct description *system, uint64_t *root)
{
    (void)root;
    if (system->shared_device_count != 0) {
        boot_refuse("the image has no code for shared devices:", system->shared_device_count);
    }
}

/* NOLINTNEXTLINE(readability-non-const-parameter): shared_device/boot.c writes to the tables */
void shared_device_connect(const struct partition *partition, uint64_t *stage2)
{
    (void)partition;
    (void)stage2;
}

/* NOLINTNEXTLINE(readability-non-const-parameter): shared_device/boot.c writes to the tables */
void shared_device_map(uint64_t *root, const struct partition *partition)
{
    (void)root;
    (void)partition;
}
