/* SPDX-License-Identifier: BSD-2-Clause */
/* The shared block devices that the program serves, and its disk. */
#ifndef BACKEND_STORAGE_SIDE_H
#define BACKEND_STORAGE_SIDE_H

#include "kernel/sync.h"
#include <stdbool.h>
#include <stdint.h>

/* Finds the devices and their disk, and begins to serve. `wake` is posted when there is work.
 * Returns false if there is no device to serve. */
bool storage_side_start(struct semaphore *wake);
/* Executes a round. Returns true if it moved something. *until: when there is work at the latest.
 */
bool storage_side_round(uint64_t now, uint64_t *until);
/* Asks for notifications. Returns false if there is work already. */
bool storage_side_sleep(void);
/* Asks the disk alone for its notifications. Returns false if it has work already. */
bool storage_side_nap(void);
/* Asks clients for none, because rounds follow. */
void storage_side_wake(void);

#endif
