/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Starts, stops and restarts a partition and its cores. Each core changes its own state; a request
 * to the partition's other cores is written to the partition's page, and an SGI tells them.
 */
#ifndef MONITOR_POWER_H
#define MONITOR_POWER_H

#include "monitor/core.h"

/* The address in a report if the architecture provides none. */
#define POWER_ADDRESS_UNKNOWN UINT64_MAX

/* Handles a call by HVC or SMC. The program counter is past the instruction. */
void power_call(struct core *core, struct registers *registers);
/* Asks for the partition's stop, and reports the fault. `address`: the guest physical address, or
 * POWER_ADDRESS_UNKNOWN. */
void power_fault(struct core *core, const struct registers *registers, uint64_t syndrome,
                 uint64_t address);
/* If a device has not answered an access of this core's monitor since the last call, asks for the
 * partition's stop, reports the fault and returns true; else returns false. `pc`: the guest's. */
bool power_device_fault(struct core *core, uint64_t pc);
/* Handles the pending interrupt of Group 0, if there is one. */
void power_interrupt(struct core *core);
/* Called before the guest continues. If the partition has to stop, this core stops here, and the
 * function does not return. */
void power_stop_if_requested(struct core *core);
/* Starts the partition on its boot core; another core waits until the partition starts it. */
_Noreturn void power_on(struct core *core);

#endif
