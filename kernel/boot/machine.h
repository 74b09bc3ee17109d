/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ending and restarting the machine.
 */
#ifndef BOOT_MACHINE_H
#define BOOT_MACHINE_H

/* Determines from the devicetree and the boot arguments how the machine can be ended. Boot, after
 * devicetree_init(). */
void machine_init(void);

/* As machine_exit(), but text that the console has not sent is lost. Interrupts masked. */
_Noreturn void machine_stop(int status);

/* Returns the board's name; never NULL. */
const char *machine_model(void);

#endif
