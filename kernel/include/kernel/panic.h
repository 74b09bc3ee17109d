/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Functions that end the machine. panic() is for broken invariants of the kernel and the program,
 * never for input from a device, a peer or a file.
 */
#ifndef KERNEL_PANIC_H
#define KERNEL_PANIC_H

/* Prints the message, the thread, a symbolised backtrace, and ends the machine with status 101. */
_Noreturn void panic(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Ends the machine: by semihosting with that exit status if there is the boot argument
 * `exit=semihosting`, otherwise by PSCI SYSTEM_OFF. */
_Noreturn void machine_exit(int status);

/* Restarts the machine by PSCI SYSTEM_RESET. Stops it if the firmware has no such call. */
_Noreturn void machine_restart(void);

#endif
