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

#define PANIC_STATUS 101

#endif
