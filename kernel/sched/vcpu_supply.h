/* SPDX-License-Identifier: BSD-2-Clause */
/* The processor time that the kernel receives at least, and what it takes of that for VCPUs, as
 * ./bulkhead check has analysed them. Admission tests VCPUs with both. */
#ifndef SCHED_VCPU_SUPPLY_H
#define SCHED_VCPU_SUPPLY_H

#include "schedule/guest_costs.h"
#include "schedule/supply.h"

/* Sets the supply, in nanoseconds. If it is not valid, it guarantees nothing. NULL: all of the
 * time, as before the first call. Before the first VCPU is created. Thread context. */
void vcpu_supply_set(const struct supply *nanoseconds);

/* Returns the supply in ticks, without what the kernel takes of it; NULL if the kernel has all of
 * the processor's time. */
const struct supply *vcpu_supply(void);

/* Sets the kernel's costs, in nanoseconds. NULL: admission counts none, as before the first call.
 * Before vcpu_supply_set(). Thread context. */
void vcpu_costs_set(const struct guest_costs *nanoseconds);

/* Returns the costs in nanoseconds; NULL if admission counts none. */
const struct guest_costs *vcpu_costs(void);

#endif
