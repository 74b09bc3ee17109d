/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Ending and restarting the machine.
 */
#ifndef BOOT_MACHINE_H
#define BOOT_MACHINE_H

/* Learns how from the devicetree and the boot arguments. Boot, after devicetree_init(). */
void machine_init(void);

/* machine_exit() at once: what the console still has is lost. Interrupts masked. */
_Noreturn void machine_stop(int status);

/* The board's name; never NULL. */
const char *machine_model(void);

#endif
