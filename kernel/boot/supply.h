/* SPDX-License-Identifier: BSD-2-Clause */
/* The processor time of the guest, as a hypervisor describes it in the devicetree (docs/vcpus.md).
 */
#ifndef BOOT_SUPPLY_H
#define BOOT_SUPPLY_H

#include "schedule/supply.h"
#include <stdbool.h>

/*
 * Reads the property `bulkhead,supply` of the first CPU: the members of struct supply, in
 * nanoseconds, 64 bits each. Returns false if there is none, so that the kernel has all of the
 * processor's time. A property of another length is reported, and guarantees nothing. Thread
 * context.
 */
bool supply_read(struct supply *nanoseconds);

#endif
