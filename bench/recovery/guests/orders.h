/* SPDX-License-Identifier: BSD-2-Clause */
/*
 * Orders to have a fault (page.h), which come in UDP datagrams. The fault is made by a timer, so it
 * interrupts whatever executes at that instant with interrupts enabled.
 */
#ifndef RECOVERY_ORDERS_H
#define RECOVERY_ORDERS_H

#include <stdbool.h>

/* Takes orders from now on. `before`: called in interrupt context before the memory violation; may
 * be NULL. Returns false if there is no memory. Thread context, after network_start(). */
bool orders_take(void (*before)(void));

#endif
