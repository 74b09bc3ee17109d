/* SPDX-License-Identifier: BSD-2-Clause */
/* A fair lock for memory that monitors share. It needs the MMU on. A lock that is all zero is
 * free. */
#ifndef HYPERVISOR_TICKET_LOCK_H
#define HYPERVISOR_TICKET_LOCK_H

#include <stdint.h>

struct ticket_lock {
    uint32_t next; /* ticket that is given out next */
    uint32_t turn; /* ticket that holds the lock */
};

/* Takes the lock. After `patience` polls takes it out of turn, because the core that holds it has
 * stopped for ever. */
static inline void ticket_lock_take(struct ticket_lock *lock, uint64_t patience)
{
    uint32_t ticket = __atomic_fetch_add(&lock->next, 1, __ATOMIC_RELAXED);

    while (__atomic_load_n(&lock->turn, __ATOMIC_ACQUIRE) != ticket && patience-- != 0) {
    }
    __atomic_store_n(&lock->turn, ticket, __ATOMIC_RELAXED);
}

static inline void ticket_lock_give(struct ticket_lock *lock)
{
    __atomic_store_n(&lock->turn, lock->turn + 1, __ATOMIC_RELEASE);
}

#endif
