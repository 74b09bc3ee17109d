/* SPDX-License-Identifier: BSD-2-Clause */
/* The watchdog and the heartbeats of a partition. In the page of its health (health/state.h), which
 * the monitors of its VCPUs map. */
#ifndef WATCHDOG_STATE_H
#define WATCHDOG_STATE_H

#include "hypervisor/description.h"
#include "hypervisor/ticket_lock.h"
#include "watchdog/generic_watchdog.h"
#include "watchdog/heartbeat.h"
#include <stdint.h>

struct partition_watchdog {
    struct ticket_lock lock; /* of `device` and `promised` */
    struct generic_watchdog device;
    /* Time of the next look by the boot VCPU's monitor, at the latest: that of the next signal when
     * it looked last, or was last called. */
    uint64_t promised;
    struct heartbeat heartbeats[DESCRIPTION_VCPUS_MAX]; /* each is the VCPU's monitor's */
};

#endif
