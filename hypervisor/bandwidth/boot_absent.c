/* SPDX-License-Identifier: BSD-2-Clause */
#include "boot/boot.h"

#include "bandwidth/bandwidth.h"

void bandwidth_boot(const struct partition *partition)
{
    if (bandwidth_is_limited(partition)) {
        boot_refuse("the image has no code for limits of bandwidth: partition",
                    partition->constant.index);
    }
}
