/* SPDX-License-Identifier: BSD-2-Clause */
/* A fair lock for memory that several monitors write. The MMU must be on. A lock that is all zero
 * is free. */
#ifndef HYPERVISOR_TICKET_LOCK_H
#define HYPERVISOR_TICKET_LOCK_H

#include <stdbool.h>
#include <stdint.h>

/* Value of `patience`: seconds. A holder executes a bounded number of instructions, so only one
 * whose core has halted needs longer (docs/waits.md). */
#define TICKET_LOCK_PATIENCE (UINT64_C(1) << 30)

struct ticket_lock {
    uint32_t next; /* next ticket to hand out */
    uint32_t turn; /* ticket of the core that holds the lock */
};

/* Takes the lock. Waits until it is free, or until it was polled `patience` times: then takes it
 * out of turn, because the core that holds it has halted. Yields between two polls: an emulator
 * that executes one core at a time goes on with the others, and so with the holder. No other
 * function of the hypervisor waits for a lock. The test of the bound on an exit
 * (tests/isolation/test_bound.py) does not count the instructions of this function. Any core; a
 * core must not take a lock that it holds. */
void ticket_lock_take(struct ticket_lock *lock, uint64_t patience);

/* Takes the lock if it is free. Returns false if it is not. */
bool ticket_lock_try(struct ticket_lock *lock);

void ticket_lock_give(struct ticket_lock *lock);

#endif
