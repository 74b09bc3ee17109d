/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ending and restarting the machine.
 */
#ifndef BOOT_MACHINE_H
#define BOOT_MACHINE_H

#include <stdint.h>

/* Determines from the devicetree and the boot arguments how the machine can be ended. Boot, after
 * devicetree_init(). */
void machine_init(void);

/* As machine_exit(), but text that the console has not sent is lost. Interrupts masked. */
_Noreturn void machine_stop(int status);

/* Calls a function without arguments of the firmware or the hypervisor. Returns its first result,
 * or -1 (NOT_SUPPORTED) if the devicetree names neither. Any context. */
uint64_t machine_call(uint32_t function);

/* Returns the board's name; never NULL. */
const char *machine_model(void);

#endif
