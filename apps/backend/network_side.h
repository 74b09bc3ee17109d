/* SPDX-License-Identifier: BSD-2-Clause */
/* The shared network devices that the program serves, and its card. */
#ifndef BACKEND_NETWORK_SIDE_H
#define BACKEND_NETWORK_SIDE_H

#include "kernel/sync.h"
#include <stdbool.h>
#include <stdint.h>

/* Finds the devices and their card, and begins to serve. `wake` is posted when there is work.
 * Returns false if there is no device to serve. */
bool network_side_start(struct semaphore *wake);
/* Executes a round. Returns true if it moved something. *until: when there is work at the latest.
 */
bool network_side_round(uint64_t now, uint64_t *until);
/* Asks for notifications. Returns false if there is work already. */
bool network_side_sleep(void);
/* Asks the card alone for its notifications. Returns false if it has work already. */
bool network_side_nap(void);
/* Asks clients for none, because rounds follow. */
void network_side_wake(void);

#endif
