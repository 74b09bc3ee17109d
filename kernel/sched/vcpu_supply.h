/* SPDX-License-Identifier: BSD-2-Clause */
/* The processor time that the kernel receives at least. Admission tests VCPUs against it. */
#ifndef SCHED_VCPU_SUPPLY_H
#define SCHED_VCPU_SUPPLY_H

#include "schedule/supply.h"

/* Sets the supply, in nanoseconds. If it is not valid, it guarantees nothing. NULL: all of the
 * time, as before the first call. Before the first VCPU is created. Thread context. */
void vcpu_supply_set(const struct supply *nanoseconds);

/* Returns the supply in ticks; NULL if the kernel has all of the processor's time. */
const struct supply *vcpu_supply(void);

#endif
