/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The heartbeat of a partition with the key `heartbeat`: a count in memory that the hypervisor
 * reads. If the kernel does not change it in the period of the key, the hypervisor acts on the
 * error `heartbeat` (docs/recovery.md), also if the guest masks its interrupts for ever.
 *
 * The kernel beats four times in a period, by a timer, as long as
 *   - each watchdog (kernel/watchdog.h) that has expired was armed again or disarmed, and
 *   - no part of the program has called heartbeat_withhold(): a deadline-miss hook
 *     (kernel/periodic.h), for example.
 * A beat is a store, without an exit.
 */
#ifndef KERNEL_HEARTBEAT_H
#define KERNEL_HEARTBEAT_H

#include "kernel/result.h"

/* Begins to beat. From the first beat on, silence is an error. A second call has no effect. Returns
 * RESULT_OK, RESULT_NOT_FOUND (the partition has no heartbeat), RESULT_INVALID (a malformed
 * devicetree) or what arch_mmu_map_memory() returns. Thread context. */
enum result heartbeat_start(void);

/* Ends the beats, until the partition restarts: the program has found that it can't do its work.
 * Any context. */
void heartbeat_withhold(void);

#endif
