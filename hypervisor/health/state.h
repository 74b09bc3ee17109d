/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The health of a partition: its log of errors, and the account of its restarts. One page, which
 * follows the partition's page, in images with health monitoring. It outlives the guest, whatever
 * happens to the partition. The monitors of the partition's VCPUs map it, and those of a manager
 * read-only. The tools read it from outside of the machine.
 */
#ifndef HEALTH_STATE_H
#define HEALTH_STATE_H

#include "health/account.h"
#include "hypervisor/partition.h"
#include "hypervisor/ticket_lock.h"
#include "watchdog/state.h"
#include <arch/health.h>
#include <stdint.h>

#define HEALTH_MAGIC UINT64_C(0x48544c484b4c5542) /* "BULKHLTH" */

struct health {
    uint64_t magic; /* HEALTH_MAGIC, or 0 if the partition is not monitored; constant after boot */
    struct ticket_lock lock;        /* of `errors` and `log` */
    struct restart_account account; /* only the boot VCPU's monitor uses it */
    uint64_t errors;                /* number of errors, those that were ignored included */
    struct health_log log;
    struct partition_watchdog watchdog; /* and heartbeats */
};

_Static_assert(sizeof(struct health) <= DESCRIPTION_PAGE_BYTES, "must fit one page");

/* Returns the page of a partition's health, of an image with health monitoring. */
static inline struct health *health_of(const struct partition *partition)
{
    return (struct health *)((uintptr_t)partition + DESCRIPTION_PAGE_BYTES);
}

#endif
