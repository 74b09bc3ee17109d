/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The heartbeat of a partition with the key `heartbeat`, for programs of RTEMS: a count that the
 * hypervisor reads. If a program that has beaten does not beat again in the period, the hypervisor
 * acts on the error `heartbeat` (docs/recovery.md), also if interrupts are masked for ever. A
 * program beats where it knows that its work goes on: in the task with the work, or in one that
 * checks the others.
 */
#ifndef CHANNEL_HEARTBEAT_H
#define CHANNEL_HEARTBEAT_H

#include "channel/linkage.h"
#include <rtems.h>
#include <stdint.h>

CHANNEL_C_BEGIN

/* The caller's. Private but for `period`. */
struct partition_heartbeat {
    uint32_t period;       /* microseconds in which each processor has to beat at least once */
    volatile void *counts; /* page of the counts, arch/heartbeat.h */
};

/* Finds the heartbeat of the partition in its devicetree. Returns RTEMS_SUCCESSFUL,
 * RTEMS_NOT_CONFIGURED (partition_devicetree() returns NULL), RTEMS_INVALID_NAME (the partition has
 * no heartbeat), RTEMS_INVALID_NODE (its node is malformed), RTEMS_INVALID_ADDRESS (a pointer of
 * this ABI can't address it) or what aarch64_mmu_map() returns. Task context. */
rtems_status_code partition_heartbeat_open(struct partition_heartbeat *heartbeat);

/* Beats for the processor that executes: a store, without an exit. From the first one on, silence
 * of this processor is an error. One task of each processor; any context. */
void partition_heartbeat_beat(const struct partition_heartbeat *heartbeat);

CHANNEL_C_END

#endif
