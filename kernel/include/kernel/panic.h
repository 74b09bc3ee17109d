/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The end: for broken invariants of the kernel itself, never for what came from outside.
 */
#ifndef KERNEL_PANIC_H
#define KERNEL_PANIC_H

/* Prints the message, the thread, a symbolised backtrace, and ends the machine with status 101. */
_Noreturn void panic(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Ends the machine: by semihosting with that exit status where the boot argument `exit=semihosting`
 * allows it, else by PSCI SYSTEM_OFF. */
_Noreturn void machine_exit(int status);

/* Starts the machine anew by PSCI SYSTEM_RESET; stops it where there is no such firmware. */
_Noreturn void machine_restart(void);

#endif
