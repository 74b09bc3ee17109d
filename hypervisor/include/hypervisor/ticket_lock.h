/* SPDX-License-Identifier: BSD-2-Clause */
/* A fair lock for memory that monitors share. It needs the MMU on. A lock that is all zero is
 * free. */
#ifndef HYPERVISOR_TICKET_LOCK_H
#define HYPERVISOR_TICKET_LOCK_H

#include <stdint.h>

#define TICKET_LOCK_FOR_EVER UINT64_MAX /* as `patience` */

struct ticket_lock {
    uint32_t next; /* ticket that is given out next */
    uint32_t turn; /* ticket that holds the lock */
};

/* Takes the lock. After `patience` polls takes it out of turn, because the core that holds it has
 * stopped for ever. No other function of the hypervisor waits for a lock: the test of the bound on
 * an exit (tests/isolation/test_bound.py) leaves out the instructions of this one. */
void ticket_lock_take(struct ticket_lock *lock, uint64_t patience);

void ticket_lock_give(struct ticket_lock *lock);

#endif
