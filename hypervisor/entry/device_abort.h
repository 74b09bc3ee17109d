/* SPDX-License-Identifier: BSD-2-Clause */
/* External aborts of a monitor's own accesses to devices (Arm ARM, ESR_EL2, "ISS encoding for an
 * exception from a Data Abort"). */
#ifndef ENTRY_DEVICE_ABORT_H
#define ENTRY_DEVICE_ABORT_H

#include "entry/frame.h"
#include <stdbool.h>
#include <stdint.h>

/*
 * Returns true if a synchronous exception from EL2 is an external abort of an access to a device.
 * Such an access can be skipped, because <arch/device_access.h> makes every access to device memory
 * by one instruction. `translation`: PAR_EL1 after a translation of FAR_EL2.
 */
bool device_abort_can_skip(uint64_t syndrome, uint64_t translation);

/* Skips the instruction: advances the program counter; if it is a load, sets its target register to
 * ones. */
void device_abort_skip(struct registers *registers, uint64_t syndrome, uint32_t instruction);

#endif
