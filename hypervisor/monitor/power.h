/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Starting, stopping and resetting a partition and its cores. Each core does what concerns it
 * itself; what others of the partition are to do it leaves in the partition's page, and then sends
 * them a message.
 */
#ifndef MONITOR_POWER_H
#define MONITOR_POWER_H

#include "monitor/core.h"

/* A call by HVC or SMC; the program counter is behind it. */
void power_call(struct core *core, struct registers *registers);
/* Asks for the partition's stop, for what it did, and says so. */
void power_fault(struct core *core, const struct registers *registers, uint64_t syndrome,
                 uint64_t address);
/* Asks for the partition's stop if a device did not answer an access of this core's monitor since
 * the last call, and says so. `pc`: the guest's. Returns true if a device did not. */
bool power_device_fault(struct core *core, uint64_t pc);
/* Takes an interrupt of the hypervisor's own, if there is one. */
void power_interrupt(struct core *core);
/* Before the guest goes on: stops this core if that was asked for, here or by another monitor of
 * the partition. Else returns. */
void power_message(struct core *core);
/* Begins the partition (its boot core), or waits until the partition starts this core. */
_Noreturn void power_on(struct core *core);

#endif
