/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The board's name and its firmware, by which the machine ends. machine_exit() and
 * machine_restart(), which applications call as well, are declared in kernel/panic.h.
 */
#ifndef MACHINE_MACHINE_H
#define MACHINE_MACHINE_H

#include <stdint.h>

/* Determines from the devicetree and the boot arguments how the machine can be ended. Boot, after
 * devicetree_init(). */
void machine_init(void);

/* Calls a function without arguments of the firmware or the hypervisor. Returns its first result,
 * or -1 (NOT_SUPPORTED) if the devicetree names neither. Any context. */
uint64_t machine_call(uint32_t function);

/* Returns the board's name; never NULL. */
const char *machine_model(void);

#endif
