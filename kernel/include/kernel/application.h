/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * The function that a program defines. The kernel is linked with the program and calls it.
 */
#ifndef KERNEL_APPLICATION_H
#define KERNEL_APPLICATION_H

/* Called in the thread "init" (priority 32) when the kernel is up. Returns the machine's exit
 * status, 0 for success. GCC must not inline it into the boot code, which is compiled without
 * floating point. */
int application_main(void) __attribute__((noinline));

#endif
