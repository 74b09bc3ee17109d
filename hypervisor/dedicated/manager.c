/* SPDX-License-Identifier: BSD-2-Clause */
/* For systems without a manager. */
#include "manager/manager.h"

bool manager_copies(struct partition *partition, uint64_t guest, uint64_t to,
                    struct load_progress *progress)
{
    (void)partition;
    (void)guest;
    (void)to;
    (void)progress;
    return false;
}
