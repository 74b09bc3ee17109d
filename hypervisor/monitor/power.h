/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Starts, stops and restarts a partition and its cores. Each core changes its own state; a request
 * to the partition's other cores is written to the partition's page, and an SGI tells them.
 */
#ifndef MONITOR_POWER_H
#define MONITOR_POWER_H

#include "monitor/core.h"

/* The address in a report where the architecture gives none. */
#define POWER_ADDRESS_UNKNOWN UINT64_MAX

/* Handles a call by HVC or SMC; the program counter is behind the instruction. */
void power_call(struct core *core, struct registers *registers);
/* Asks for the partition's stop, and reports why. `address`: the guest's physical address, or
 * POWER_ADDRESS_UNKNOWN. */
void power_fault(struct core *core, const struct registers *registers, uint64_t syndrome,
                 uint64_t address);
/* Asks for the partition's stop if a device did not answer an access of this core's monitor since
 * the last call, and says so. `pc`: the guest's. Returns true if a device did not. */
bool power_device_fault(struct core *core, uint64_t pc);
/* Handles the pending interrupt of Group 0, if there is one. */
void power_interrupt(struct core *core);
/* Called before the guest continues: returns unless the partition has to stop; then this core stops
 * here. */
void power_message(struct core *core);
/* Starts the partition on its boot core; another core waits until the partition starts it. */
_Noreturn void power_on(struct core *core);

#endif
