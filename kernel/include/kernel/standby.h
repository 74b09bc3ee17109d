/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * PCI functions that move between this partition and its standby (key `standby` of the system file,
 * docs/recovery.md). Which of the two is the standby changes with each move. Thread context.
 */
#ifndef KERNEL_STANDBY_H
#define KERNEL_STANDBY_H

#include <stdbool.h>

/* Waits until the partition has the first of the functions that move, and finds it: it is a part of
 * the list of pci_first() then. If the other partition had the function before, its kept memory
 * replaces that of this one. So call it before the partition's kept memory is used. Returns at once
 * if no function moves. Once. */
void standby_wait(void);

/* Returns true if a function has moved to the other partition. A program that used it can't use it
 * any more, and restarts to become the standby. */
bool standby_has_lost_function(void);

#endif
