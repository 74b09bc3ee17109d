/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The frame of every last report, for panic() and for the architecture's exceptions.
 */
#ifndef PANIC_PRIVATE_H
#define PANIC_PRIVATE_H

/* Masks interrupts and turns the console to polling. If a report is under way already it ends the
 * machine here: what the report itself broke on cannot be reported. */
void panic_begin(void);

/* The running thread, and whether it was interrupted. */
void panic_print_thread(void);

/* Ends the machine with PANIC_STATUS. */
_Noreturn void panic_end(void);

#define PANIC_STATUS 101

#endif
