/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Parts of a fatal report, for panic() and for fatal exceptions.
 */
#ifndef PANIC_PRIVATE_H
#define PANIC_PRIVATE_H

/* Masks interrupts and makes the console poll. Called during another report, it ends the machine,
 * because a failure of the report itself cannot be reported. */
void panic_begin(void);

/* Prints the running thread, and whether an interrupt handler runs. */
void panic_print_thread(void);

/* Ends the machine with PANIC_STATUS. */
_Noreturn void panic_end(void);

/* Ends the machine as machine_exit() does, but loses text that the console has not sent. Defined in
 * machine/machine.c. Interrupts masked. */
_Noreturn void machine_stop(int status);

#define PANIC_STATUS 101

#endif
