/* SPDX-License-Identifier: BSD-2-Clause */
#include "boot/boot.h"

#include "bandwidth/bandwidth.h"

void bandwidth_boot(const struct partition *partition)
{
    if (bandwidth_is_limited(partition) && partition->constant.shares_group1) {
        boot_refuse("bandwidth is limited by an interrupt of Group 0, the firmware's: partition",
                    partition->constant.index);
    }
}
