/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Notices that a partition's guest hangs: it does not refresh its generic watchdog, or its
 * heartbeat stands still. Both are errors of the partition (health/health.h). The monitors of its
 * VCPUs look by the EL2 timers of their cores, so a guest that masks all of its interrupts is
 * noticed, too. The boot VCPU's monitor looks at the watchdog, which the partition has once, and
 * each VCPU's monitor at the VCPU's heartbeat.
 *
 * Time in which the partition executes counts as time in which others execute on its cores. While
 * it starts, stops, or has stopped, nobody looks.
 *
 * Images of systems without health monitoring have absent.c and boot_absent.c instead.
 */
#ifndef WATCHDOG_WATCHDOG_H
#define WATCHDOG_WATCHDOG_H

#include "hypervisor/access.h"
#include "hypervisor/processor.h"
#include "hypervisor/vcpu.h"
#include <stdbool.h>
#include <stdint.h>

/* Handles an access to the partition's watchdog. Returns false if the address is not in one of its
 * frames; otherwise sets *result. On the VCPU's processor. */
bool watchdog_access(struct vcpu *vcpu, uint64_t address, struct access *access,
                     enum access_result *result);

/* Looks at the watchdog, if this is the boot VCPU, and at the VCPU's heartbeat, as far as it is
 * time to, and sets the time of the next look. In the VCPU's monitor. */
void watchdog_look(struct vcpu *vcpu);

/* Lets the monitor of a VCPU of the processor look if it is time to: at once if the processor is
 * not shared, otherwise when that VCPU executes next, which is woken. One VCPU at a time: if others
 * are due, too, watchdog_due() has passed. */
void watchdog_call_due(struct processor *processor);

/* Returns the time of the next look by a monitor of the processor, or UINT64_MAX: there is none. */
uint64_t watchdog_due(const struct processor *processor);

/* Ends all looks, and resets the watchdog and the heartbeats. The partition starts or stops. On its
 * boot VCPU, while no VCPU of it executes. */
void watchdog_reset(struct partition *partition);

/* Begins the looks at the VCPU's heartbeat: its guest starts. In the VCPU's monitor. */
void watchdog_start_guest(struct vcpu *vcpu);

/* Returns the number of pages that follow those of health_pages(): 1 for a partition with a
 * heartbeat, otherwise 0. Boot. */
uint64_t watchdog_pages(const struct description_partition *described);

/* Maps the page of the partition's heartbeat for its guest. Boot. */
void watchdog_map(const struct partition *partition, uint64_t *stage2);

#endif
