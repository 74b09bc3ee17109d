/* SPDX-License-Identifier: BSD-2-Clause */
/* The processor time of the guest, and what its kernel takes of it, as a hypervisor describes it in
 * the devicetree (docs/vcpus.md).
 */
#ifndef BOOT_SUPPLY_H
#define BOOT_SUPPLY_H

#include "schedule/guest_costs.h"
#include "schedule/supply.h"
#include <stdbool.h>

/*
 * Reads the property `bulkhead,supply` of the first CPU: the members of struct supply, in
 * nanoseconds, 64 bits each. Returns false if there is none, so that the kernel has all of the
 * processor's time. A property of another length is reported, and guarantees nothing. Thread
 * context.
 */
bool supply_read(struct supply *nanoseconds);

/*
 * Reads the property `bulkhead,vcpu-costs` of the first CPU: the members of struct guest_costs, in
 * nanoseconds, 64 bits each. Returns false if there is none, so that admission counts no costs. A
 * property of another length, or with a cost above SCHEDULE_PERIOD_MAX, is reported, and the costs
 * are so high that no budget below an hour is admitted. Thread context.
 */
bool guest_costs_read(struct guest_costs *nanoseconds);

#endif
