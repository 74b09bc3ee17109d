/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * What a program gives to the kernel that it is linked with.
 */
#ifndef KERNEL_APPLICATION_H
#define KERNEL_APPLICATION_H

/* Called in the thread "init" (priority 32) when the kernel is up. What it
 * returns is the machine's exit status, 0 for success. */
int application_main(void);

#endif
