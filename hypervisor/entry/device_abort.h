/* SPDX-License-Identifier: BSD-2-Clause */
/* External aborts of a monitor's accesses to devices (Arm ARM, ESR_EL2, "ISS encoding for an
 * exception from a Data Abort"). */
#ifndef ENTRY_DEVICE_ABORT_H
#define ENTRY_DEVICE_ABORT_H

#include "entry/frame.h"
#include <stdbool.h>
#include <stdint.h>

/*
 * Returns true if a synchronous exception from EL2 is an external abort of an access to a device.
 * The monitor can skip such an access, because <arch/device_access.h> makes every access to device
 * memory with one instruction. `syndrome`: ESR_EL2. `translation`: PAR_EL1 after a translation of
 * FAR_EL2.
 */
bool device_abort_can_skip(uint64_t syndrome, uint64_t translation);

/* Skips the instruction that was aborted: advances the program counter, and sets the target
 * register of a load to ones. `syndrome`: ESR_EL2. `instruction`: its encoding. */
void device_abort_skip(struct registers *registers, uint64_t syndrome, uint32_t instruction);

#endif
