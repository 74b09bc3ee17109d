/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The reports of this process for tools outside of the machine, as our kernel has them
 * (kernel/report.h): the network's counters, and a mirror of frames. They are in memory that the
 * system file's shared devices bring, at the begin of the DAX device. It begins as an image of our
 * kernel would, with a locator at REPORT_LOCATOR_OFFSET.
 *
 * The process that serves the partition's first shared device has the memory.
 */
#ifndef BACKEND_LINUX_REPORTS_H
#define BACKEND_LINUX_REPORTS_H

#include "backend/network.h"
#include "backend/network_report.h"
#include "device.h"
#include <stdint.h>

struct reports_memory; /* private */

struct reports {
    struct reports_memory *memory; /* NULL: this process has none */
    struct network *network;
    const struct device *devices; /* as many as the network has clients, in their order */
    struct network_port ports[FRAME_SWITCH_PORTS_MAX];
};

/* Publishes the counters and a mirror, if one of the devices has memory for them. It replaces the
 * reports of an earlier process. `life`: a random number. `now`: nanoseconds. */
void reports_begin(struct reports *reports, struct network *network, const struct device *devices,
                   uint64_t life, uint64_t now);

/* Updates the counters, unless that was a short time ago. */
void reports_tend(struct reports *reports, uint64_t now);
/* Updates the counters, because nothing will change them for a while. */
void reports_finish(struct reports *reports, uint64_t now);

#endif
