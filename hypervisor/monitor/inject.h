/* SPDX-License-Identifier: BSD-2-Clause */
/* An exception that the hypervisor makes a guest take to EL1 (Arm ARM, "Exception entry"). */
#ifndef MONITOR_INJECT_H
#define MONITOR_INJECT_H

#include "monitor/core.h"
#include <stdint.h>

/* ESR_EL1 of a synchronous external abort in place of the data or instruction abort to EL2 with
 * this syndrome. `state`: SPSR_EL2, the guest's PSTATE. */
uint64_t inject_abort_syndrome(uint64_t syndrome, uint64_t state);

/* guest_abort.c: has the guest of this core take a synchronous external abort where it stands.
 * `syndrome`, `address`: ESR_EL2 and FAR_EL2 of its data or instruction abort. */
void inject_external_abort(struct registers *registers, uint64_t syndrome, uint64_t address);

#endif
