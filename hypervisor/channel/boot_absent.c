/* SPDX-License-Identifier: BSD-2-Clause */
#include "boot/boot.h"
#include "channel/channel.h"

/* NOLINTNEXTLINE(readability-non-const-parameter): channel/boot.c writes to the tables */
void channel_prepare(const struct description *system, uint64_t *root)
{
    (void)root;
    if (system->channel_count != 0) {
        boot_refuse("the image has no code for channels:", system->channel_count);
    }
}

/* NOLINTNEXTLINE(readability-non-const-parameter): channel/boot.c writes to the tables */
void channel_connect(const struct partition *partition, uint64_t *stage2)
{
    (void)partition;
    (void)stage2;
}

/* NOLINTNEXTLINE(readability-non-const-parameter): channel/boot.c writes to the tables */
void channel_map(uint64_t *root, const struct partition *partition)
{
    (void)root;
    (void)partition;
}
