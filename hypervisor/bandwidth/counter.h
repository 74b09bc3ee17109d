/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The event counters of this processor by which the hypervisor counts the memory accesses of its
 * guest: the last ones of the performance monitors, which MDCR_EL2.HPMN keeps from the guest (Arm
 * ARM, "Interaction with EL2"). They count at EL1 and EL0 only. All functions are called on the
 * processor itself.
 */
#ifndef BANDWIDTH_COUNTER_H
#define BANDWIDTH_COUNTER_H

#include "hypervisor/description.h"
#include <stdbool.h>
#include <stdint.h>

/* Takes the board's number of counters from the guest, which keeps at least one. Returns NULL, or
 * the reason why the board's event can't be counted, in static memory. Once, after
 * guest_state_init(). */
const char *counter_reserve(const struct description_board *board);

/* Enables the counters and their interrupt. Sets PMCR_EL0.E, which needs to be set for the guest's
 * counters alone (Arm ARM, MDCR_EL2.HPME), because QEMU raises no interrupt while it is clear. No
 * counter of a guest that starts is enabled, so E changes nothing for it. After
 * guest_state_reset(). */
void counter_start(const struct description_board *board);

/* Lets the interrupt be raised after `events` more, at most DESCRIPTION_BANDWIDTH_EVENTS_MAX. */
void counter_load(uint32_t events);

/* Returns the number of events since counter_load(events). */
uint32_t counter_used(uint32_t events);

/* Returns true if the hypervisor's counter has raised the interrupt, and withdraws it. Otherwise a
 * counter of the guest has raised it: then disables the interrupts of the guest's counters. */
bool counter_acknowledge(void);

/* Disables the hypervisor's counters. */
void counter_stop(void);

#endif
