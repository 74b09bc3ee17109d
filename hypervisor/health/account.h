/* SPDX-License-Identifier: BSD-2-Clause */
/* The account of a partition's restarts after errors: how many it may have in a time, and how long
 * each waits. Logic without a clock. */
#ifndef HEALTH_ACCOUNT_H
#define HEALTH_ACCOUNT_H

#include "hypervisor/description.h"
#include <stdbool.h>
#include <stdint.h>

/* All zero: no restart yet. */
struct restart_account {
    uint64_t times[DESCRIPTION_RESTARTS_MAX]; /* of the last restarts; 0: none */
    uint32_t next;                            /* index of the oldest of them */
    uint32_t reserved;
    uint64_t earliest; /* time before which the partition is not started again */
};

/* Conditions of restarts. Times are in ticks of `hz`. */
struct restart_limit {
    uint32_t most; /* restarts within the window, 1 to DESCRIPTION_RESTARTS_MAX */
    uint64_t window;
    uint64_t hz;
};

/* Decides about a restart at `now`, which is not before the times of earlier calls. Returns false
 * if the window that ends now has the most restarts already. Otherwise counts the restart, sets
 * `earliest`, and returns true. The first restart in a window waits for nothing, the second one for
 * 10 ms, and each further one twice as long as the one before, up to a second. */
bool account_admit(struct restart_account *account, const struct restart_limit *limit,
                   uint64_t now);

#endif
